// A loop over threads that computes enough goes two vectors at a time; what one that moves waits for is memory.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64, f32) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %by: f32):
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      %at = "llvm.getelementptr"(%x, %i) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %v = "llvm.load"(%at) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %more = "arith.mulf"(%v, %by) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      "llvm.store"(%at, %more) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    }) {"parallel" = true} : (i64, i64, i64) -> ()
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%j: i64):
      %here = "llvm.getelementptr"(%x, %j) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %w = "llvm.load"(%here) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %a = "arith.mulf"(%w, %by) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      %b = "arith.addf"(%a, %by) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      %c = "arith.mulf"(%b, %w) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      %d = "arith.addf"(%c, %by) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      %e = "arith.mulf"(%d, %w) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      %f = "arith.addf"(%e, %by) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      "llvm.store"(%here, %f) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    }) {"parallel" = true} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64, f32) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %by: f32):
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      %at = "llvm.getelementptr"(%x, %i) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %v = "llvm.load"(%at) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %more = "arith.mulf"(%v, %by) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      "llvm.store"(%at, %more) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    }) {"parallel" = true} : (i64, i64, i64) -> ()
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%j: i64):
      %here = "llvm.getelementptr"(%x, %j) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %w = "llvm.load"(%here) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %a = "arith.mulf"(%w, %by) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      %b = "arith.addf"(%a, %by) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      %c = "arith.mulf"(%b, %w) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      %d = "arith.addf"(%c, %by) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      %e = "arith.mulf"(%d, %w) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      %f = "arith.addf"(%e, %by) <{"fastmath" = #arith.fastmath<none>}> : (f32, f32) -> f32
      "llvm.store"(%here, %f) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    }) {"parallel" = true, "pairs" = true} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
