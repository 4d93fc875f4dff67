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
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %shared: !llvm.ptr<3>):
    %15 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %16 = "arith.muli"(%15, %block_dim_z) : (i64, i64) -> i64
    %17 = "llvm.alloca"(%16) {"elem_type" = f32, "count" = 1 : i64, "alignment" = 8 : i64} : (i64) -> !llvm.ptr
    %18 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %19 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%18, %block_dim_z, %19) ({
    ^bb0(%thread_z_20: i64):
      "weft.for"(%18, %block_dim_y, %19) ({
      ^bb0(%thread_y_21: i64):
        "weft.for"(%18, %block_dim_x, %19) ({
        ^bb0(%thread_x_22: i64):
          %23 = "arith.muli"(%block_dim_y, %thread_z_20) : (i64, i64) -> i64
          %24 = "arith.addi"(%thread_y_21, %23) : (i64, i64) -> i64
          %25 = "arith.muli"(%block_dim_x, %24) : (i64, i64) -> i64
          %26 = "arith.addi"(%thread_x_22, %25) : (i64, i64) -> i64
          %27 = "llvm.getelementptr"(%x, %thread_x_22) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
          %28 = "llvm.load"(%27) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
          %29 = "llvm.getelementptr"(%17, %26) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
          "weft.set"(%29, %28) : (!llvm.ptr, f32) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %30 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %31 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%30, %block_dim_z, %31) ({
    ^bb0(%thread_z_32: i64):
      "weft.for"(%30, %block_dim_y, %31) ({
      ^bb0(%thread_y_33: i64):
        "weft.for"(%30, %block_dim_x, %31) ({
        ^bb0(%thread_x_34: i64):
          %35 = "arith.muli"(%block_dim_y, %thread_z_32) : (i64, i64) -> i64
          %36 = "arith.addi"(%thread_y_33, %35) : (i64, i64) -> i64
          %37 = "arith.muli"(%block_dim_x, %36) : (i64, i64) -> i64
          %38 = "arith.addi"(%thread_x_34, %37) : (i64, i64) -> i64
          %39 = "llvm.getelementptr"(%x, %thread_x_34) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
          %40 = "llvm.getelementptr"(%17, %38) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
          %41 = "weft.get"(%40) : (!llvm.ptr) -> f32
          "llvm.store"(%39, %41) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
          "weft.exit_thread"() : () -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
