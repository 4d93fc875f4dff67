// Two elements of a range, each a call: all loads are in flight before the first store.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "element", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %i: i64):
    %at = "llvm.getelementptr"(%x, %i) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    %v = "llvm.load"(%at) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
    %root = "math.sqrt"(%v) : (f32) -> f32
    "llvm.store"(%at, %root) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "weft.return"() : () -> ()
  }) {"weft.element"} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %i: i64):
    "func.call"(%x, %i) <{"callee" = @element}> : (!llvm.ptr<1>, i64) -> ()
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %next = "arith.addi"(%i, %one) : (i64, i64) -> i64
    "func.call"(%x, %next) <{"callee" = @element}> : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.over_rank" = 1 : i64} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "element", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %i: i64):
    %at = "llvm.getelementptr"(%x, %i) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    %v = "llvm.load"(%at) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
    %root = "math.sqrt"(%v) : (f32) -> f32
    "llvm.store"(%at, %root) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "weft.return"() : () -> ()
  }) {"weft.element"} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %i: i64):
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %next = "arith.addi"(%i, %one) : (i64, i64) -> i64
    %at = "llvm.getelementptr"(%x, %i) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    %at_5 = "llvm.getelementptr"(%x, %next) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    %v = "llvm.load"(%at) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
    %v_7 = "llvm.load"(%at_5) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
    %root = "math.sqrt"(%v) : (f32) -> f32
    %root_9 = "math.sqrt"(%v_7) : (f32) -> f32
    "llvm.store"(%at, %root) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "llvm.store"(%at_5, %root_9) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.over_rank" = 1 : i64} : () -> ()
}) : () -> ()
