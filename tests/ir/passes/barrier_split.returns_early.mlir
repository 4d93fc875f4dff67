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
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %shared: !llvm.ptr<3>):
    %16 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %17 = "arith.muli"(%16, %block_dim_z) : (i64, i64) -> i64
    %18 = "llvm.alloca"(%17) {"elem_type" = i8, "count" = 1 : i64, "alignment" = 8 : i64} : (i64) -> !llvm.ptr
    %19 = "weft.slot"() {"elem_type" = i64, "name" = "left"} : () -> !llvm.ptr<5>
    %20 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %21 = "arith.muli"(%20, %block_dim_z) : (i64, i64) -> i64
    "weft.set"(%19, %21) : (!llvm.ptr<5>, i64) -> ()
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
          %31 = "llvm.getelementptr"(%18, %30) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
          %32 = "arith.constant"() <{"value" = 1 : i8}> : () -> i8
          "weft.set"(%31, %32) : (!llvm.ptr, i8) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %33 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %34 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%33, %block_dim_z, %34) ({
    ^bb0(%thread_z_35: i64):
      "weft.for"(%33, %block_dim_y, %34) ({
      ^bb0(%thread_y_36: i64):
        "weft.for"(%33, %block_dim_x, %34) ({
        ^bb0(%thread_x_37: i64):
          %38 = "arith.muli"(%block_dim_y, %thread_z_35) : (i64, i64) -> i64
          %39 = "arith.addi"(%thread_y_36, %38) : (i64, i64) -> i64
          %40 = "arith.muli"(%block_dim_x, %39) : (i64, i64) -> i64
          %41 = "arith.addi"(%thread_x_37, %40) : (i64, i64) -> i64
          %42 = "llvm.getelementptr"(%18, %41) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
          %43 = "weft.get"(%42) : (!llvm.ptr) -> i8
          %44 = "arith.constant"() <{"value" = 0 : i8}> : () -> i8
          %45 = "arith.cmpi"(%43, %44) <{"predicate" = 1 : i64}> : (i8, i8) -> i1
          "weft.if"(%45) ({
            %46 = "arith.cmpi"(%thread_x_37, %n) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
            "weft.if"(%46) ({
              %47 = "llvm.getelementptr"(%18, %41) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
              %48 = "arith.constant"() <{"value" = 0 : i8}> : () -> i8
              "weft.set"(%47, %48) : (!llvm.ptr, i8) -> ()
              %49 = "weft.get"(%19) : (!llvm.ptr<5>) -> i64
              %50 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
              %51 = "arith.subi"(%49, %50) : (i64, i64) -> i64
              "weft.set"(%19, %51) : (!llvm.ptr<5>, i64) -> ()
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
    %52 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %53 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%52, %block_dim_z, %53) ({
    ^bb0(%thread_z_54: i64):
      "weft.for"(%52, %block_dim_y, %53) ({
      ^bb0(%thread_y_55: i64):
        "weft.for"(%52, %block_dim_x, %53) ({
        ^bb0(%thread_x_56: i64):
          %57 = "arith.muli"(%block_dim_y, %thread_z_54) : (i64, i64) -> i64
          %58 = "arith.addi"(%thread_y_55, %57) : (i64, i64) -> i64
          %59 = "arith.muli"(%block_dim_x, %58) : (i64, i64) -> i64
          %60 = "arith.addi"(%thread_x_56, %59) : (i64, i64) -> i64
          %61 = "llvm.getelementptr"(%18, %60) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
          %62 = "weft.get"(%61) : (!llvm.ptr) -> i8
          %63 = "arith.constant"() <{"value" = 0 : i8}> : () -> i8
          %64 = "arith.cmpi"(%62, %63) <{"predicate" = 1 : i64}> : (i8, i8) -> i1
          "weft.if"(%64) ({
            "llvm.store"(%x, %thread_x_56) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
            %65 = "llvm.getelementptr"(%18, %60) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
            %66 = "arith.constant"() <{"value" = 0 : i8}> : () -> i8
            "weft.set"(%65, %66) : (!llvm.ptr, i8) -> ()
            %67 = "weft.get"(%19) : (!llvm.ptr<5>) -> i64
            %68 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
            %69 = "arith.subi"(%67, %68) : (i64, i64) -> i64
            "weft.set"(%19, %69) : (!llvm.ptr<5>, i64) -> ()
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
