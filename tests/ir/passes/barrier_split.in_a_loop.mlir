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
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %shared: !llvm.ptr<3>):
    %16 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %17 = "arith.muli"(%16, %block_dim_z) : (i64, i64) -> i64
    %18 = "llvm.alloca"(%17) {"elem_type" = i64, "count" = 1 : i64, "alignment" = 8 : i64} : (i64) -> !llvm.ptr
    %19 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %20 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%19, %block_dim_z, %20) ({
    ^bb0(%thread_z_21: i64):
      "weft.for"(%19, %block_dim_y, %20) ({
      ^bb0(%thread_y_22: i64):
        "weft.for"(%19, %block_dim_x, %20) ({
        ^bb0(%thread_x_23: i64):
          %24 = "arith.muli"(%block_dim_y, %thread_z_21) : (i64, i64) -> i64
          %25 = "arith.addi"(%thread_y_22, %24) : (i64, i64) -> i64
          %26 = "arith.muli"(%block_dim_x, %25) : (i64, i64) -> i64
          %27 = "arith.addi"(%thread_x_23, %26) : (i64, i64) -> i64
          %28 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
          %29 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
          %30 = "llvm.getelementptr"(%18, %27) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
          "weft.set"(%30, %28) : (!llvm.ptr, i64) -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %31 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %32 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%31, %n, %32) ({
    ^bb0(%i: i64):
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
            %43 = "llvm.getelementptr"(%18, %42) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
            %44 = "weft.get"(%43) : (!llvm.ptr) -> i64
            %45 = "arith.addi"(%44, %i) : (i64, i64) -> i64
            %46 = "llvm.getelementptr"(%18, %42) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
            "weft.set"(%46, %45) : (!llvm.ptr, i64) -> ()
          }) {"parallel" = true} : (i64, i64, i64) -> ()
        }) {"parallel" = false} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %47 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %48 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%47, %block_dim_z, %48) ({
    ^bb0(%thread_z_49: i64):
      "weft.for"(%47, %block_dim_y, %48) ({
      ^bb0(%thread_y_50: i64):
        "weft.for"(%47, %block_dim_x, %48) ({
        ^bb0(%thread_x_51: i64):
          %52 = "arith.muli"(%block_dim_y, %thread_z_49) : (i64, i64) -> i64
          %53 = "arith.addi"(%thread_y_50, %52) : (i64, i64) -> i64
          %54 = "arith.muli"(%block_dim_x, %53) : (i64, i64) -> i64
          %55 = "arith.addi"(%thread_x_51, %54) : (i64, i64) -> i64
          "weft.exit_thread"() : () -> ()
        }) {"parallel" = true} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
