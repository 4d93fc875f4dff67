// A warp's exchanges and what is computed between them are one vector; what one lane writes is done for it alone.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %lane = "gpu.lane_id"() : () -> i64
    %warp = "gpu.subgroup_id"() : () -> i64
    %number = "gpu.thread_number"() : () -> i64
    %place = "llvm.getelementptr"(%x, %number) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    %value = "llvm.load"(%place) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
    %other = "gpu.shuffle"(%value, %lane) {"mask" = array<i64: 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14, 17, 16, 19, 18, 21, 20, 23, 22, 25, 24, 27, 26, 29, 28, 31, 30>} : (i64, i64) -> i64
    %pair = "arith.addi"(%value, %other) : (i64, i64) -> i64
    %more = "arith.cmpi"(%pair, %n) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
    %votes = "gpu.ballot"(%more) : (i1) -> i32
    %wide = "arith.extui"(%votes) : (i32) -> i64
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %first = "arith.cmpi"(%lane, %zero) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
    "weft.if"(%first) ({
      %at = "llvm.getelementptr"(%x, %warp) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%at, %wide) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }, {
    }) : (i1) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> () loc("k.py":1:1)
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %cluster_dim_x: i64, %cluster_dim_y: i64, %cluster_dim_z: i64, %shared_stride: i64, %shared: !llvm.ptr<3>):
    %20 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %21 = "arith.muli"(%20, %block_dim_z) : (i64, i64) -> i64
    %22 = "llvm.alloca"(%21) {"elem_type" = i64, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    %23 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %24 = "arith.muli"(%23, %block_dim_z) : (i64, i64) -> i64
    %25 = "llvm.alloca"(%24) {"elem_type" = i64, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    %26 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %27 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
    %28 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %29 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %30 = "arith.muli"(%29, %block_dim_z) : (i64, i64) -> i64
    "weft.for"(%28, %30, %27) ({
    ^bb0(%warp: i64):
      %32 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
      %33 = "arith.divui"(%warp, %32) : (i64, i64) -> i64
      %34 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %35 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
      %36 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%34, %35, %36) ({
      ^bb0(%lane: i64):
        %38 = "arith.addi"(%warp, %lane) : (i64, i64) -> i64
        %39 = "arith.remui"(%38, %block_dim_x) : (i64, i64) -> i64
        %40 = "arith.divui"(%38, %block_dim_x) : (i64, i64) -> i64
        %41 = "arith.remui"(%40, %block_dim_y) : (i64, i64) -> i64
        %42 = "arith.divui"(%40, %block_dim_y) : (i64, i64) -> i64
        %43 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
        %44 = "llvm.getelementptr"(%x, %38) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        %45 = "llvm.load"(%44) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
        %46 = "llvm.getelementptr"(%22, %38) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
        "weft.set"(%46, %45) : (!llvm.ptr, i64) -> ()
      }) {"parallel" = true} : (i64, i64, i64) -> ()
      %47 = "llvm.getelementptr"(%22, %warp) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
      %48 = "llvm.load"(%47) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> vector<32xi64>
      %49 = "vector.shuffle"(%48, %48) {"mask" = array<i64: 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14, 17, 16, 19, 18, 21, 20, 23, 22, 25, 24, 27, 26, 29, 28, 31, 30>} : (vector<32xi64>, vector<32xi64>) -> vector<32xi64>
      %50 = "arith.addi"(%48, %49) : (vector<32xi64>, vector<32xi64>) -> vector<32xi64>
      %51 = "vector.splat"(%n) : (i64) -> vector<32xi64>
      %52 = "arith.cmpi"(%50, %51) <{"predicate" = 4 : i64}> : (vector<32xi64>, vector<32xi64>) -> vector<32xi1>
      %53 = "arith.bitcast"(%52) : (vector<32xi1>) -> i32
      %54 = "vector.splat"(%53) : (i32) -> vector<32xi32>
      %55 = "arith.extui"(%54) : (vector<32xi32>) -> vector<32xi64>
      %56 = "llvm.getelementptr"(%25, %warp) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
      "llvm.store"(%56, %55) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr, vector<32xi64>) -> ()
      %57 = "arith.addi"(%warp, %26) : (i64, i64) -> i64
      %58 = "arith.remui"(%57, %block_dim_x) : (i64, i64) -> i64
      %59 = "arith.divui"(%57, %block_dim_x) : (i64, i64) -> i64
      %60 = "arith.remui"(%59, %block_dim_y) : (i64, i64) -> i64
      %61 = "arith.divui"(%59, %block_dim_y) : (i64, i64) -> i64
      %62 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %63 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
      %64 = "arith.cmpi"(%26, %62) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
      %65 = "arith.cmpi"(%26, %63) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      %66 = "arith.andi"(%64, %65) : (i1, i1) -> i1
      "weft.if"(%66) ({
        %67 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
        %68 = "arith.cmpi"(%26, %26) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
        "weft.if"(%68) ({
          %69 = "llvm.getelementptr"(%x, %33) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
          %70 = "llvm.getelementptr"(%25, %57) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
          %71 = "weft.get"(%70) : (!llvm.ptr) -> i64
          "llvm.store"(%69, %71) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
        }, {
        ^bb0:
        }) : (i1) -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
