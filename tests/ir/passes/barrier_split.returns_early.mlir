// A thread that has returned is skipped from then on.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %outside = "arith.cmpi"(%tx, %n) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
    "weft.if"(%outside) ({
      "weft.return"() : () -> ()
    }, {
    }) : (i1) -> ()
    "gpu.barrier"() : () -> ()
    "llvm.store"(%x, %tx) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %cluster_dim_x: i64, %cluster_dim_y: i64, %cluster_dim_z: i64, %shared_stride: i64, %shared: !llvm.ptr<3>):
    %20 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %21 = "arith.muli"(%20, %block_dim_z) : (i64, i64) -> i64
    %22 = "llvm.alloca"(%21) {"elem_type" = i8, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    %23 = "weft.slot"() {"elem_type" = i64, "name" = "left"} : () -> !llvm.ptr<5>
    %24 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %25 = "arith.muli"(%24, %block_dim_z) : (i64, i64) -> i64
    "weft.set"(%23, %25) : (!llvm.ptr<5>, i64) -> ()
    %26 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %27 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%26, %block_dim_z, %27) ({
    ^bb0(%thread_z_28: i64):
      "weft.for"(%26, %block_dim_y, %27) ({
      ^bb0(%thread_y_29: i64):
        "weft.for"(%26, %block_dim_x, %27) ({
        ^bb0(%thread_x_30: i64):
          %31 = "arith.muli"(%block_dim_y, %thread_z_28) : (i64, i64) -> i64
          %32 = "arith.addi"(%thread_y_29, %31) : (i64, i64) -> i64
          %33 = "arith.muli"(%block_dim_x, %32) : (i64, i64) -> i64
          %34 = "arith.addi"(%thread_x_30, %33) : (i64, i64) -> i64
          %35 = "llvm.getelementptr"(%22, %34) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
          %36 = "arith.constant"() <{"value" = 1 : i8}> : () -> i8
          "weft.set"(%35, %36) : (!llvm.ptr, i8) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %37 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %38 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%37, %block_dim_z, %38) ({
    ^bb0(%thread_z_39: i64):
      "weft.for"(%37, %block_dim_y, %38) ({
      ^bb0(%thread_y_40: i64):
        "weft.for"(%37, %block_dim_x, %38) ({
        ^bb0(%thread_x_41: i64):
          %42 = "arith.muli"(%block_dim_y, %thread_z_39) : (i64, i64) -> i64
          %43 = "arith.addi"(%thread_y_40, %42) : (i64, i64) -> i64
          %44 = "arith.muli"(%block_dim_x, %43) : (i64, i64) -> i64
          %45 = "arith.addi"(%thread_x_41, %44) : (i64, i64) -> i64
          %46 = "llvm.getelementptr"(%22, %45) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
          %47 = "weft.get"(%46) : (!llvm.ptr) -> i8
          %48 = "arith.constant"() <{"value" = 0 : i8}> : () -> i8
          %49 = "arith.cmpi"(%47, %48) <{"predicate" = 1 : i64}> : (i8, i8) -> i1
          "weft.if"(%49) ({
            %50 = "arith.cmpi"(%thread_x_41, %n) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
            "weft.if"(%50) ({
              %51 = "llvm.getelementptr"(%22, %45) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
              %52 = "arith.constant"() <{"value" = 0 : i8}> : () -> i8
              "weft.set"(%51, %52) : (!llvm.ptr, i8) -> ()
              %53 = "weft.get"(%23) : (!llvm.ptr<5>) -> i64
              %54 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
              %55 = "arith.subi"(%53, %54) : (i64, i64) -> i64
              "weft.set"(%23, %55) : (!llvm.ptr<5>, i64) -> ()
              "weft.exit_thread"() : () -> ()
            }, {
            ^bb0:
            }) : (i1) -> ()
          }, {
          ^bb0:
          }) : (i1) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %56 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %57 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%56, %block_dim_z, %57) ({
    ^bb0(%thread_z_58: i64):
      "weft.for"(%56, %block_dim_y, %57) ({
      ^bb0(%thread_y_59: i64):
        "weft.for"(%56, %block_dim_x, %57) ({
        ^bb0(%thread_x_60: i64):
          %61 = "arith.muli"(%block_dim_y, %thread_z_58) : (i64, i64) -> i64
          %62 = "arith.addi"(%thread_y_59, %61) : (i64, i64) -> i64
          %63 = "arith.muli"(%block_dim_x, %62) : (i64, i64) -> i64
          %64 = "arith.addi"(%thread_x_60, %63) : (i64, i64) -> i64
          %65 = "llvm.getelementptr"(%22, %64) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
          %66 = "weft.get"(%65) : (!llvm.ptr) -> i8
          %67 = "arith.constant"() <{"value" = 0 : i8}> : () -> i8
          %68 = "arith.cmpi"(%66, %67) <{"predicate" = 1 : i64}> : (i8, i8) -> i1
          "weft.if"(%68) ({
            "llvm.store"(%x, %thread_x_60) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
            %69 = "llvm.getelementptr"(%22, %64) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
            %70 = "arith.constant"() <{"value" = 0 : i8}> : () -> i8
            "weft.set"(%69, %70) : (!llvm.ptr, i8) -> ()
            %71 = "weft.get"(%23) : (!llvm.ptr<5>) -> i64
            %72 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
            %73 = "arith.subi"(%71, %72) : (i64, i64) -> i64
            "weft.set"(%23, %73) : (!llvm.ptr<5>, i64) -> ()
            "weft.exit_thread"() : () -> ()
          }, {
          ^bb0:
          }) : (i1) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
