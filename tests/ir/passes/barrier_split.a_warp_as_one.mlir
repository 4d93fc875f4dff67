// What a warp does as one is called once for it, where lanes keep what it takes; others' memory is taken in turn.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr, !llvm.ptr<1>, f32) -> ()}> ({
  ^bb0(%callee: !llvm.ptr, %x: !llvm.ptr<1>, %same: f32):
    %sums = "weft.slot"() {"elem_type" = f32, "name" = "sums"} : () -> !llvm.ptr<5>
    %number = "gpu.thread_number"() : () -> i64
    %place = "llvm.getelementptr"(%x, %number) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    %value = "llvm.load"(%place) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
    "weft.set"(%sums, %value) : (!llvm.ptr<5>, f32) -> ()
    %held = "weft.get"(%sums) : (!llvm.ptr<5>) -> f32
    %one = "gpu.warp_call"(%callee, %held, %same) : (!llvm.ptr, f32, f32) -> f32
    %two = "gpu.warp_call"(%callee, %one, %one) : (!llvm.ptr, f32, f32) -> f32
    %three = "gpu.warp_call"(%callee, %two, %held) : (!llvm.ptr, f32, f32) -> f32
    "llvm.store"(%place, %three) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> () loc("k.py":1:1)
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr, !llvm.ptr<1>, f32, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%callee: !llvm.ptr, %x: !llvm.ptr<1>, %same: f32, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %cluster_dim_x: i64, %cluster_dim_y: i64, %cluster_dim_z: i64, %shared_stride: i64, %shared: !llvm.ptr<3>):
    %21 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %22 = "arith.muli"(%21, %block_dim_z) : (i64, i64) -> i64
    %23 = "llvm.alloca"(%22) {"elem_type" = f32, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    %24 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %25 = "arith.muli"(%24, %block_dim_z) : (i64, i64) -> i64
    %26 = "llvm.alloca"(%25) {"elem_type" = f32, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    %27 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %28 = "arith.muli"(%27, %block_dim_z) : (i64, i64) -> i64
    %29 = "llvm.alloca"(%28) {"elem_type" = f32, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    %30 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %31 = "arith.muli"(%30, %block_dim_z) : (i64, i64) -> i64
    %32 = "llvm.alloca"(%31) {"elem_type" = f32, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    %33 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
    %34 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %35 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %36 = "arith.muli"(%35, %block_dim_z) : (i64, i64) -> i64
    "weft.for"(%34, %36, %33) ({
    ^bb0(%warp: i64):
      %38 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
      %39 = "arith.divui"(%warp, %38) : (i64, i64) -> i64
      %40 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %41 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
      %42 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%40, %41, %42) ({
      ^bb0(%lane: i64):
        %44 = "arith.addi"(%warp, %lane) : (i64, i64) -> i64
        %45 = "arith.remui"(%44, %block_dim_x) : (i64, i64) -> i64
        %46 = "arith.divui"(%44, %block_dim_x) : (i64, i64) -> i64
        %47 = "arith.remui"(%46, %block_dim_y) : (i64, i64) -> i64
        %48 = "arith.divui"(%46, %block_dim_y) : (i64, i64) -> i64
        %49 = "llvm.getelementptr"(%x, %44) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        %50 = "llvm.load"(%49) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
        %51 = "llvm.getelementptr"(%23, %44) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
        "weft.set"(%51, %50) : (!llvm.ptr, f32) -> ()
      }) {"parallel" = true} : (i64, i64, i64) -> ()
      %52 = "llvm.getelementptr"(%23, %warp) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
      %53 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %54 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
      %55 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%53, %54, %55) ({
      ^bb0(%lane_56: i64):
        %57 = "arith.addi"(%warp, %lane_56) : (i64, i64) -> i64
        %58 = "arith.remui"(%57, %block_dim_x) : (i64, i64) -> i64
        %59 = "arith.divui"(%57, %block_dim_x) : (i64, i64) -> i64
        %60 = "arith.remui"(%59, %block_dim_y) : (i64, i64) -> i64
        %61 = "arith.divui"(%59, %block_dim_y) : (i64, i64) -> i64
        %62 = "llvm.getelementptr"(%32, %57) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
        "weft.set"(%62, %same) : (!llvm.ptr, f32) -> ()
      }) {"parallel" = true} : (i64, i64, i64) -> ()
      %63 = "llvm.getelementptr"(%32, %warp) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
      %64 = "llvm.getelementptr"(%26, %warp) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
      "llvm.call"(%callee, %52, %63, %64) {"effects" = "all"} : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
      %65 = "llvm.getelementptr"(%26, %warp) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
      %66 = "llvm.getelementptr"(%26, %warp) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
      %67 = "llvm.getelementptr"(%29, %warp) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
      "llvm.call"(%callee, %65, %66, %67) {"effects" = "all"} : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
      %68 = "llvm.getelementptr"(%29, %warp) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
      %69 = "llvm.getelementptr"(%23, %warp) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
      %70 = "llvm.getelementptr"(%26, %warp) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
      "llvm.call"(%callee, %68, %69, %70) {"effects" = "all"} : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
      %71 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %72 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
      %73 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%71, %72, %73) ({
      ^bb0(%lane_74: i64):
        %75 = "arith.addi"(%warp, %lane_74) : (i64, i64) -> i64
        %76 = "arith.remui"(%75, %block_dim_x) : (i64, i64) -> i64
        %77 = "arith.divui"(%75, %block_dim_x) : (i64, i64) -> i64
        %78 = "arith.remui"(%77, %block_dim_y) : (i64, i64) -> i64
        %79 = "arith.divui"(%77, %block_dim_y) : (i64, i64) -> i64
        %80 = "llvm.getelementptr"(%x, %75) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        %81 = "llvm.getelementptr"(%26, %75) {"elem_type" = f32} : (!llvm.ptr, i64) -> !llvm.ptr
        %82 = "weft.get"(%81) : (!llvm.ptr) -> f32
        "llvm.store"(%80, %82) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
        "weft.exit_thread"() : () -> ()
      }) {"parallel" = true} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
