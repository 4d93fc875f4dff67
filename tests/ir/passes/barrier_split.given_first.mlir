// What a piece gives a variable before it reads it is not kept for each thread, but a sum is.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %read = "weft.slot"() {"elem_type" = i64, "name" = "read"} : () -> !llvm.ptr<5>
    %sum = "weft.slot"() {"elem_type" = i64, "name" = "sum"} : () -> !llvm.ptr<5>
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.set"(%sum, %tx) : (!llvm.ptr<5>, i64) -> ()
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      %first = "arith.cmpi"(%tx, %i) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.if"(%first) ({
        "weft.set"(%read, %tx) : (!llvm.ptr<5>, i64) -> ()
      }, {
        "weft.set"(%read, %n) : (!llvm.ptr<5>, i64) -> ()
      }) : (i1) -> ()
      %got = "weft.get"(%read) : (!llvm.ptr<5>) -> i64
      %before = "weft.get"(%sum) : (!llvm.ptr<5>) -> i64
      %after = "arith.addi"(%before, %got) : (i64, i64) -> i64
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
    %20 = "weft.slot"() {"elem_type" = i64, "name" = "read"} : () -> !llvm.ptr<5>
    %21 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %22 = "arith.muli"(%21, %block_dim_z) : (i64, i64) -> i64
    %23 = "llvm.alloca"(%22) {"elem_type" = i64, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    %24 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %25 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
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
          %35 = "llvm.getelementptr"(%23, %34) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
          "weft.set"(%35, %thread_x_30) : (!llvm.ptr, i64) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.for"(%24, %n, %25) ({
    ^bb0(%i: i64):
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
            %46 = "arith.cmpi"(%thread_x_41, %i) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
            "weft.if"(%46) ({
              "weft.set"(%20, %thread_x_41) : (!llvm.ptr<5>, i64) -> ()
            }, {
              "weft.set"(%20, %n) : (!llvm.ptr<5>, i64) -> ()
            }) : (i1) -> ()
            %47 = "weft.get"(%20) : (!llvm.ptr<5>) -> i64
            %48 = "llvm.getelementptr"(%23, %45) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
            %49 = "weft.get"(%48) : (!llvm.ptr) -> i64
            %50 = "arith.addi"(%49, %47) : (i64, i64) -> i64
            %51 = "llvm.getelementptr"(%23, %45) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
            "weft.set"(%51, %50) : (!llvm.ptr, i64) -> ()
          }) {"parallel" = true} : (i64, i64, i64) -> ()
        }) {"parallel" = false} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
