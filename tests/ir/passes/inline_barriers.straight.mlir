// A helper that waits is put into its caller; its variable comes to the head of the body.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "helper", "function_type" = (f32) -> (f32)}> ({
  ^bb0(%x: f32):
    %kept = "weft.slot"() {"elem_type" = f32, "name" = "kept"} : () -> !llvm.ptr<5>
    "weft.set"(%kept, %x) : (!llvm.ptr<5>, f32) -> ()
    "gpu.barrier"() : () -> ()
    %y = "weft.get"(%kept) : (!llvm.ptr<5>) -> f32
    "weft.return"(%y) : (f32) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (i1, f32, !llvm.ptr<1>) -> ()}> ({
  ^bb0(%flag: i1, %x: f32, %out: !llvm.ptr<1>):
    "weft.if"(%flag) ({
      %y = "func.call"(%x) <{"callee" = @helper}> : (f32) -> f32
      "llvm.store"(%out, %y) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    }, {
    }) : (i1) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (i1, f32, !llvm.ptr<1>) -> ()}> ({
  ^bb0(%flag: i1, %x: f32, %out: !llvm.ptr<1>):
    %kept = "weft.slot"() {"elem_type" = f32, "name" = "kept"} : () -> !llvm.ptr<5>
    "weft.if"(%flag) ({
      "weft.set"(%kept, %x) : (!llvm.ptr<5>, f32) -> ()
      "gpu.barrier"() : () -> ()
      %y = "weft.get"(%kept) : (!llvm.ptr<5>) -> f32
      "llvm.store"(%out, %y) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    }, {
    ^bb0:
    }) : (i1) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
