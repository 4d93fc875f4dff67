// An assertion that fails in a helper: the helper says so, and the kernel returns.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "helper", "function_type" = (i1, f32) -> (f32)}> ({
  ^bb0(%holds: i1, %x: f32):
    "weft.assert"(%holds, %x) {"site" = 3 : i64} : (i1, f32) -> ()
    "weft.return"(%x) : (f32) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (i1, f32, !llvm.ptr<1>) -> ()}> ({
  ^bb0(%holds: i1, %x: f32, %out: !llvm.ptr<1>):
    %y = "func.call"(%holds, %x) <{"callee" = @helper}> : (i1, f32) -> f32
    "llvm.store"(%out, %y) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "helper", "function_type" = (i1, f32) -> (f32, i1)}> ({
  ^bb0(%holds: i1, %x: f32):
    %2 = "weft.slot"() {"elem_type" = f32, "name" = "nothing"} : () -> !llvm.ptr<5>
    "weft.if"(%holds) ({
    ^bb0:
    }, {
      "weft.failed"(%x) {"site" = 3 : i64} : (f32) -> ()
      %3 = "weft.get"(%2) : (!llvm.ptr<5>) -> f32
      %4 = "arith.constant"() <{"value" = true}> : () -> i1
      "weft.return"(%3, %4) : (f32, i1) -> ()
    }) : (i1) -> ()
    %5 = "arith.constant"() <{"value" = false}> : () -> i1
    "weft.return"(%x, %5) : (f32, i1) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (i1, f32, !llvm.ptr<1>) -> ()}> ({
  ^bb0(%holds: i1, %x: f32, %out: !llvm.ptr<1>):
    %y, %4 = "func.call"(%holds, %x) <{"callee" = @helper}> : (i1, f32) -> (f32, i1)
    "weft.if"(%4) ({
      "weft.return"() : () -> ()
    }, {
    ^bb0:
    }) : (i1) -> ()
    "llvm.store"(%out, %y) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
