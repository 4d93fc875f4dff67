// What is loaded before a barrier and used behind it is kept for each thread; the index is computed again.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %at = "llvm.getelementptr"(%x, %tx) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    %v = "llvm.load"(%at) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
    "gpu.barrier"() : () -> ()
    "llvm.store"(%at, %v) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %cluster_dim_x: i64, %cluster_dim_y: i64, %cluster_dim_z: i64, %shared_stride: i64, %shared: !llvm.ptr<3>):
    %19 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %20 = "arith.muli"(%19, %block_dim_z) : (i64, i64) -> i64
    %21 = "llvm.alloca"(%20) {"elem_type" = f32, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    %22 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %23 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%22, %block_dim_z, %23) ({
    ^bb0(%thread_z_24: i64):
      "weft.for"(%22, %block_dim_y, %23) ({
      ^bb0(%thread_y_25: i64):
        "weft.for"(%22, %block_dim_x, %23) ({
        ^bb0(%thread_x_26: i64):
          %27 = "arith.muli"(%block_dim_y, %thread_z_24) : (i64, i64) -> i64
          %28 = "arith.addi"(%thread_y_25, %27) : (i64, i64) -> i64
          %29 = "arith.muli"(%block_dim_x, %28) : (i64, i64) -> i64
          %30 = "arith.addi"(%thread_x_26, %29) : (i64, i64) -> i64
          %31 = "llvm.getelementptr"(%x, %thread_x_26) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
          %32 = "llvm.load"(%31) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
          %33 = "llvm.getelementptr"(%21, %30) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
          "weft.set"(%33, %32) : (!llvm.ptr, f32) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %34 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %35 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%34, %block_dim_z, %35) ({
    ^bb0(%thread_z_36: i64):
      "weft.for"(%34, %block_dim_y, %35) ({
      ^bb0(%thread_y_37: i64):
        "weft.for"(%34, %block_dim_x, %35) ({
        ^bb0(%thread_x_38: i64):
          %39 = "arith.muli"(%block_dim_y, %thread_z_36) : (i64, i64) -> i64
          %40 = "arith.addi"(%thread_y_37, %39) : (i64, i64) -> i64
          %41 = "arith.muli"(%block_dim_x, %40) : (i64, i64) -> i64
          %42 = "arith.addi"(%thread_x_38, %41) : (i64, i64) -> i64
          %43 = "llvm.getelementptr"(%x, %thread_x_38) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
          %44 = "llvm.getelementptr"(%21, %42) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
          %45 = "weft.get"(%44) : (!llvm.ptr) -> f32
          "llvm.store"(%43, %45) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
          "weft.exit_thread"() : () -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
