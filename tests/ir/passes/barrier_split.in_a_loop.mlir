// A loop around a barrier runs once for all threads; a variable is kept for each of them.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %sum = "weft.slot"() {"elem_type" = i64, "name" = "sum"} : () -> !llvm.ptr<5>
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.set"(%sum, %zero) : (!llvm.ptr<5>, i64) -> ()
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      %before = "weft.get"(%sum) : (!llvm.ptr<5>) -> i64
      %after = "arith.addi"(%before, %i) : (i64, i64) -> i64
      "weft.set"(%sum, %after) : (!llvm.ptr<5>, i64) -> ()
      "gpu.barrier"() : () -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %shared: !llvm.ptr<3>):
    %16 = "weft.slot"() {"elem_type" = i64, "name" = "sum"} : () -> !llvm.ptr<5>
    %17 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %18 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.set"(%16, %17) : (!llvm.ptr<5>, i64) -> ()
    "weft.for"(%17, %n, %18) ({
    ^bb0(%i: i64):
      %20 = "weft.get"(%16) : (!llvm.ptr<5>) -> i64
      %21 = "arith.addi"(%20, %i) : (i64, i64) -> i64
      "weft.set"(%16, %21) : (!llvm.ptr<5>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
