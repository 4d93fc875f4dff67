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
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %shared: !llvm.ptr<3>):
    %15 = "weft.slot"() {"elem_type" = i1, "name" = "some"} : () -> !llvm.ptr<5>
    %16 = "weft.slot"() {"elem_type" = i1, "name" = "all"} : () -> !llvm.ptr<5>
    %17 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %18 = "arith.muli"(%17, %block_dim_z) : (i64, i64) -> i64
    %19 = "llvm.alloca"(%18) {"elem_type" = i1, "count" = 1 : i64, "alignment" = 8 : i64} : (i64) -> !llvm.ptr
    %20 = "weft.slot"() {"elem_type" = i64, "name" = "first"} : () -> !llvm.ptr<5>
    %21 = "weft.slot"() {"elem_type" = i64, "name" = "first_value"} : () -> !llvm.ptr<5>
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
          %31 = "llvm.load"(%x) {"alignment" = 1 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i1
          %32 = "llvm.getelementptr"(%19, %30) {"elem_type" = i1} : (!llvm.ptr, i64) -> !llvm.ptr
          "weft.set"(%32, %31) : (!llvm.ptr, i1) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %33 = "arith.constant"() <{"value" = false}> : () -> i1
    "weft.set"(%15, %33) : (!llvm.ptr<5>, i1) -> ()
    %34 = "arith.constant"() <{"value" = true}> : () -> i1
    "weft.set"(%16, %34) : (!llvm.ptr<5>, i1) -> ()
    %35 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %36 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%35, %block_dim_z, %36) ({
    ^bb0(%thread_z_37: i64):
      "weft.for"(%35, %block_dim_y, %36) ({
      ^bb0(%thread_y_38: i64):
        "weft.for"(%35, %block_dim_x, %36) ({
        ^bb0(%thread_x_39: i64):
          %40 = "arith.muli"(%block_dim_y, %thread_z_37) : (i64, i64) -> i64
          %41 = "arith.addi"(%thread_y_38, %40) : (i64, i64) -> i64
          %42 = "arith.muli"(%block_dim_x, %41) : (i64, i64) -> i64
          %43 = "arith.addi"(%thread_x_39, %42) : (i64, i64) -> i64
          %44 = "llvm.getelementptr"(%19, %43) {"elem_type" = i1} : (!llvm.ptr, i64) -> !llvm.ptr
          %45 = "weft.get"(%44) : (!llvm.ptr) -> i1
          %46 = "weft.get"(%15) : (!llvm.ptr<5>) -> i1
          %47 = "arith.ori"(%46, %45) : (i1, i1) -> i1
          "weft.set"(%15, %47) : (!llvm.ptr<5>, i1) -> ()
          %48 = "weft.get"(%16) : (!llvm.ptr<5>) -> i1
          %49 = "arith.andi"(%48, %45) : (i1, i1) -> i1
          "weft.set"(%16, %49) : (!llvm.ptr<5>, i1) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %50 = "weft.get"(%16) : (!llvm.ptr<5>) -> i1
    %51 = "arith.constant"() <{"value" = true}> : () -> i1
    %52 = "arith.xori"(%50, %51) : (i1, i1) -> i1
    %53 = "weft.get"(%15) : (!llvm.ptr<5>) -> i1
    %54 = "arith.andi"(%53, %52) : (i1, i1) -> i1
    "weft.if"(%54) ({
      %55 = "arith.constant"() <{"value" = -1 : i64}> : () -> i64
      "weft.set"(%20, %55) : (!llvm.ptr<5>, i64) -> ()
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
            %65 = "llvm.getelementptr"(%19, %64) {"elem_type" = i1} : (!llvm.ptr, i64) -> !llvm.ptr
            %66 = "weft.get"(%65) : (!llvm.ptr) -> i1
            %67 = "arith.extui"(%66) : (i1) -> i64
            %68 = "weft.get"(%20) : (!llvm.ptr<5>) -> i64
            %69 = "weft.get"(%21) : (!llvm.ptr<5>) -> i64
            %70 = "arith.constant"() <{"value" = -1 : i64}> : () -> i64
            %71 = "arith.cmpi"(%68, %70) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
            "weft.if"(%71) ({
              "weft.set"(%20, %64) : (!llvm.ptr<5>, i64) -> ()
              "weft.set"(%21, %67) : (!llvm.ptr<5>, i64) -> ()
            }, {
              %72 = "arith.cmpi"(%67, %69) <{"predicate" = 1 : i64}> : (i64, i64) -> i1
              "weft.if"(%72) ({
                "weft.host_parted"(%state, %block_x, %block_y, %block_z, %thread_x_60, %thread_y_59, %thread_z_58, %68, %69, %67) {"place" = "k.py\0A3\0A4\0Ak.py\0A4\0A8", "flag" = true} : (i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> ()
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
    %73 = "weft.get"(%15) : (!llvm.ptr<5>) -> i1
    "weft.if"(%73) ({
    ^bb0:
    }, {
    ^bb0:
    }) : (i1) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
