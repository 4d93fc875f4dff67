// Nobody knows whether all threads read the same flag: they are asked, and the block ends where they disagree.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>):
    %flag = "llvm.load"(%x) {"alignment" = 1 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i1
    "weft.if"(%flag) ({
      "gpu.barrier"() : () -> () loc("k.py":4:9)
    }, {
    }) : (i1) -> () loc("k.py":3:5)
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> () loc("k.py":1:1)
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %cluster_dim_x: i64, %cluster_dim_y: i64, %cluster_dim_z: i64, %shared_stride: i64, %shared: !llvm.ptr<3>):
    %19 = "weft.slot"() {"elem_type" = i1, "name" = "some"} : () -> !llvm.ptr<5>
    %20 = "weft.slot"() {"elem_type" = i1, "name" = "all"} : () -> !llvm.ptr<5>
    %21 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %22 = "arith.muli"(%21, %block_dim_z) : (i64, i64) -> i64
    %23 = "llvm.alloca"(%22) {"elem_type" = i1, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    %24 = "weft.slot"() {"elem_type" = i64, "name" = "first"} : () -> !llvm.ptr<5>
    %25 = "weft.slot"() {"elem_type" = i64, "name" = "first_value"} : () -> !llvm.ptr<5>
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
          %35 = "llvm.load"(%x) {"alignment" = 1 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i1
          %36 = "llvm.getelementptr"(%23, %34) {"elem_type" = i1} : (!llvm.ptr, i64) -> !llvm.ptr
          "weft.set"(%36, %35) : (!llvm.ptr, i1) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %37 = "arith.constant"() <{"value" = false}> : () -> i1
    "weft.set"(%19, %37) : (!llvm.ptr<5>, i1) -> ()
    %38 = "arith.constant"() <{"value" = true}> : () -> i1
    "weft.set"(%20, %38) : (!llvm.ptr<5>, i1) -> ()
    %39 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %40 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%39, %block_dim_z, %40) ({
    ^bb0(%thread_z_41: i64):
      "weft.for"(%39, %block_dim_y, %40) ({
      ^bb0(%thread_y_42: i64):
        "weft.for"(%39, %block_dim_x, %40) ({
        ^bb0(%thread_x_43: i64):
          %44 = "arith.muli"(%block_dim_y, %thread_z_41) : (i64, i64) -> i64
          %45 = "arith.addi"(%thread_y_42, %44) : (i64, i64) -> i64
          %46 = "arith.muli"(%block_dim_x, %45) : (i64, i64) -> i64
          %47 = "arith.addi"(%thread_x_43, %46) : (i64, i64) -> i64
          %48 = "llvm.getelementptr"(%23, %47) {"elem_type" = i1} : (!llvm.ptr, i64) -> !llvm.ptr
          %49 = "weft.get"(%48) : (!llvm.ptr) -> i1
          %50 = "weft.get"(%19) : (!llvm.ptr<5>) -> i1
          %51 = "arith.ori"(%50, %49) : (i1, i1) -> i1
          "weft.set"(%19, %51) : (!llvm.ptr<5>, i1) -> ()
          %52 = "weft.get"(%20) : (!llvm.ptr<5>) -> i1
          %53 = "arith.andi"(%52, %49) : (i1, i1) -> i1
          "weft.set"(%20, %53) : (!llvm.ptr<5>, i1) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %54 = "weft.get"(%20) : (!llvm.ptr<5>) -> i1
    %55 = "arith.constant"() <{"value" = true}> : () -> i1
    %56 = "arith.xori"(%54, %55) : (i1, i1) -> i1
    %57 = "weft.get"(%19) : (!llvm.ptr<5>) -> i1
    %58 = "arith.andi"(%57, %56) : (i1, i1) -> i1
    "weft.if"(%58) ({
      %59 = "arith.constant"() <{"value" = -1 : i64}> : () -> i64
      "weft.set"(%24, %59) : (!llvm.ptr<5>, i64) -> ()
      %60 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %61 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%60, %block_dim_z, %61) ({
      ^bb0(%thread_z_62: i64):
        "weft.for"(%60, %block_dim_y, %61) ({
        ^bb0(%thread_y_63: i64):
          "weft.for"(%60, %block_dim_x, %61) ({
          ^bb0(%thread_x_64: i64):
            %65 = "arith.muli"(%block_dim_y, %thread_z_62) : (i64, i64) -> i64
            %66 = "arith.addi"(%thread_y_63, %65) : (i64, i64) -> i64
            %67 = "arith.muli"(%block_dim_x, %66) : (i64, i64) -> i64
            %68 = "arith.addi"(%thread_x_64, %67) : (i64, i64) -> i64
            %69 = "llvm.getelementptr"(%23, %68) {"elem_type" = i1} : (!llvm.ptr, i64) -> !llvm.ptr
            %70 = "weft.get"(%69) : (!llvm.ptr) -> i1
            %71 = "arith.extui"(%70) : (i1) -> i64
            %72 = "weft.get"(%24) : (!llvm.ptr<5>) -> i64
            %73 = "weft.get"(%25) : (!llvm.ptr<5>) -> i64
            %74 = "arith.constant"() <{"value" = -1 : i64}> : () -> i64
            %75 = "arith.cmpi"(%72, %74) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
            "weft.if"(%75) ({
              "weft.set"(%24, %68) : (!llvm.ptr<5>, i64) -> ()
              "weft.set"(%25, %71) : (!llvm.ptr<5>, i64) -> ()
            }, {
              %76 = "arith.cmpi"(%71, %73) <{"predicate" = 1 : i64}> : (i64, i64) -> i1
              "weft.if"(%76) ({
                "weft.host_parted"(%state, %block_x, %block_y, %block_z, %thread_x_64, %thread_y_63, %thread_z_62, %72, %73, %71) {"place" = "k.py\0A3\0A4\0Ak.py\0A4\0A8\0Ablock", "flag" = true} : (i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> ()
              }, {
              ^bb0:
              }) : (i1) -> ()
            }) : (i1) -> ()
          }) {"parallel" = true} : (i64, i64, i64) -> ()
        }) {"parallel" = false} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
      "weft.exit_block"() : () -> ()
    }, {
    ^bb0:
    }) : (i1) -> ()
    %77 = "weft.get"(%19) : (!llvm.ptr<5>) -> i1
    "weft.if"(%77) ({
    ^bb0:
    }, {
    ^bb0:
    }) : (i1) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
