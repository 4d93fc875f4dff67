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
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %cluster_dim_x: i64, %cluster_dim_y: i64, %cluster_dim_z: i64, %shared_stride: i64, %shared: !llvm.ptr<3>):
    %20 = "weft.slot"() {"elem_type" = i64, "name" = "sum"} : () -> !llvm.ptr<5>
    %21 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %22 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.set"(%20, %21) : (!llvm.ptr<5>, i64) -> ()
    "weft.for"(%21, %n, %22) ({
    ^bb0(%i: i64):
      %24 = "weft.get"(%20) : (!llvm.ptr<5>) -> i64
      %25 = "arith.addi"(%24, %i) : (i64, i64) -> i64
      "weft.set"(%20, %25) : (!llvm.ptr<5>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
