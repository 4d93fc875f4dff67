// Variables cannot go to the heap; two calls of a helper count twice.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "helper", "function_type" = () -> ()}> ({
  ^bb0:
    %huge = "weft.slot"() {"elem_type" = vector<600000xf32>, "name" = "huge"} : () -> !llvm.ptr<5>
    "weft.return"() : () -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = () -> ()}> ({
  ^bb0:
    "func.call"() <{"callee" = @helper}> : () -> ()
    "func.call"() <{"callee" = @helper}> : () -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> () loc("k.py":3:1)
}) : () -> ()
// After
// error[stack]: k takes 4800000 bytes of stack on a CPU, with the functions that it calls; there are 4194304
//  --> k.py:3:1
//   = help: call fewer functions, or loop over one call
