// Some threads return from a helper and others wait in it.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "helper", "function_type" = () -> ()}> ({
  ^bb0:
    %x = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %five = "arith.constant"() <{"value" = 5 : i64}> : () -> i64
    %few = "arith.cmpi"(%x, %five) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
    "weft.if"(%few) ({
      "weft.return"() : () -> ()
    }, {
    }) : (i1) -> () loc("helper.py":7:3)
    "gpu.barrier"() : () -> ()
    "weft.return"() : () -> ()
  }) {"weft.source_name" = "helper"} : () -> () loc("helper.py":5:1)
  "func.func"() <{"sym_name" = "k", "function_type" = () -> ()}> ({
  ^bb0:
    "func.call"() <{"callee" = @helper}> : () -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
// error[barrier-return]: helper returns here for some threads, and others wait at its barrier
//  --> helper.py:7:3
//   = note: all threads of a block reach a barrier, or none
//   = help: wait before you return, or return from the kernel itself
