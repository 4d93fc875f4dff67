// In a loop around a barrier: what a piece writes before it reads is there for one thread at a time.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %fresh = "weft.slot"() {"elem_type" = i64, "name" = "fresh"} : () -> !llvm.ptr<5>
    %maybe = "weft.slot"() {"elem_type" = i64, "name" = "maybe"} : () -> !llvm.ptr<5>
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      %t = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
      %odd = "arith.cmpi"(%t, %i) {"predicate" = "slt"} : (i64, i64) -> i1
      "weft.if"(%odd) ({
        "weft.set"(%fresh, %one) : (!llvm.ptr<5>, i64) -> ()
        "weft.set"(%maybe, %one) : (!llvm.ptr<5>, i64) -> ()
      }, {
        "weft.set"(%fresh, %t) : (!llvm.ptr<5>, i64) -> ()
      }) : (i1) -> ()
      %a = "weft.get"(%fresh) : (!llvm.ptr<5>) -> i64
      %b = "weft.get"(%maybe) : (!llvm.ptr<5>) -> i64
      %sum = "arith.addi"(%a, %b) : (i64, i64) -> i64
      %at = "llvm.getelementptr"(%x, %t) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%at, %sum) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      "gpu.barrier"() : () -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "block", "function_type" = (!llvm.ptr<1>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %state: i64, %block_x: i64, %block_y: i64, %block_z: i64, %thread_x: i64, %thread_y: i64, %thread_z: i64, %block_dim_x: i64, %block_dim_y: i64, %block_dim_z: i64, %grid_dim_x: i64, %grid_dim_y: i64, %grid_dim_z: i64, %cluster_dim_x: i64, %cluster_dim_y: i64, %cluster_dim_z: i64, %shared_stride: i64, %shared: !llvm.ptr<3>):
    %20 = "weft.slot"() {"elem_type" = i64, "name" = "fresh"} : () -> !llvm.ptr<5>
    %21 = "arith.muli"(%block_dim_x, %block_dim_y) : (i64, i64) -> i64
    %22 = "arith.muli"(%21, %block_dim_z) : (i64, i64) -> i64
    %23 = "llvm.alloca"(%22) {"elem_type" = i64, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    %24 = "weft.slot"() {"elem_type" = i64, "name" = "maybe"} : () -> !llvm.ptr<5>
    %25 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %26 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%25, %n, %26) ({
    ^bb0(%i: i64):
      %28 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %29 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%28, %block_dim_z, %29) ({
      ^bb0(%thread_z_30: i64):
        "weft.for"(%28, %block_dim_y, %29) ({
        ^bb0(%thread_y_31: i64):
          "weft.for"(%28, %block_dim_x, %29) ({
          ^bb0(%thread_x_32: i64):
            %33 = "arith.muli"(%block_dim_y, %thread_z_30) : (i64, i64) -> i64
            %34 = "arith.addi"(%thread_y_31, %33) : (i64, i64) -> i64
            %35 = "arith.muli"(%block_dim_x, %34) : (i64, i64) -> i64
            %36 = "arith.addi"(%thread_x_32, %35) : (i64, i64) -> i64
            %37 = "llvm.getelementptr"(%23, %36) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
            %38 = "weft.get"(%37) : (!llvm.ptr) -> i64
            "weft.set"(%24, %38) : (!llvm.ptr<5>, i64) -> ()
            %39 = "arith.cmpi"(%thread_x_32, %i) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
            "weft.if"(%39) ({
              "weft.set"(%20, %26) : (!llvm.ptr<5>, i64) -> ()
              "weft.set"(%24, %26) : (!llvm.ptr<5>, i64) -> ()
            }, {
              "weft.set"(%20, %thread_x_32) : (!llvm.ptr<5>, i64) -> ()
            }) : (i1) -> ()
            %40 = "weft.get"(%20) : (!llvm.ptr<5>) -> i64
            %41 = "weft.get"(%24) : (!llvm.ptr<5>) -> i64
            %42 = "arith.addi"(%40, %41) : (i64, i64) -> i64
            %43 = "llvm.getelementptr"(%x, %thread_x_32) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
            "llvm.store"(%43, %42) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
            %44 = "llvm.getelementptr"(%23, %36) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
            %45 = "weft.get"(%24) : (!llvm.ptr<5>) -> i64
            "weft.set"(%44, %45) : (!llvm.ptr, i64) -> ()
          }) {"parallel" = true} : (i64, i64, i64) -> ()
        }) {"parallel" = false} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
