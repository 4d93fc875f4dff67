// Blocks along x alone: a loop over their threads for each piece, and no other.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %to = "llvm.getelementptr"(%x, %tx) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%to, %tx) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "gpu.barrier"() : () -> ()
    %by = "gpu.block_dim"() {"dimension" = "y"} : () -> i64
    "llvm.store"(%to, %by) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.block_rank" = 1 : i64} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k.loops", "function_type" = (!llvm.ptr<1>, !llvm.ptr) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %launch: !llvm.ptr):
    %2 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %3 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %4 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %5 = "llvm.getelementptr"(%launch, %4) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %6 = "llvm.load"(%5) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %7 = "arith.extui"(%6) : (i32) -> i64
    %8 = "arith.constant"() <{"value" = 4 : i64}> : () -> i64
    %9 = "llvm.getelementptr"(%launch, %8) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %10 = "llvm.load"(%9) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %11 = "arith.extui"(%10) : (i32) -> i64
    %12 = "arith.constant"() <{"value" = 8 : i64}> : () -> i64
    %13 = "llvm.getelementptr"(%launch, %12) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %14 = "llvm.load"(%13) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %15 = "arith.extui"(%14) : (i32) -> i64
    %16 = "arith.constant"() <{"value" = 12 : i64}> : () -> i64
    %17 = "llvm.getelementptr"(%launch, %16) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %18 = "llvm.load"(%17) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %19 = "arith.extui"(%18) : (i32) -> i64
    %20 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
    %21 = "llvm.getelementptr"(%launch, %20) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %22 = "llvm.load"(%21) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %23 = "arith.constant"() <{"value" = 40 : i64}> : () -> i64
    %24 = "llvm.getelementptr"(%launch, %23) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %25 = "llvm.load"(%24) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %26 = "arith.constant"() <{"value" = 48 : i64}> : () -> i64
    %27 = "llvm.getelementptr"(%launch, %26) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %28 = "llvm.load"(%27) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %29 = "arith.constant"() <{"value" = 56 : i64}> : () -> i64
    %30 = "llvm.getelementptr"(%launch, %29) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %31 = "llvm.load"(%30) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %32 = "arith.constant"() <{"value" = 128 : i64}> : () -> i64
    %33 = "arith.addi"(%31, %32) : (i64, i64) -> i64
    %34 = "llvm.alloca"(%33) {"elem_type" = i8, "count" = 0 : i64, "alignment" = 128 : i64} : (i64) -> !llvm.ptr<3>
    %35 = "weft.slot"() {"elem_type" = i64, "name" = "start"} : () -> !llvm.ptr<5>
    %36 = "weft.slot"() {"elem_type" = i64, "name" = "end"} : () -> !llvm.ptr<5>
    "weft.set"(%35, %2) : (!llvm.ptr<5>, i64) -> ()
    "weft.set"(%36, %2) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %37 = "weft.get"(%35) : (!llvm.ptr<5>) -> i64
      %38 = "weft.get"(%36) : (!llvm.ptr<5>) -> i64
      %39 = "arith.cmpi"(%37, %38) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
      "weft.if"(%39) ({
        %40 = "arith.constant"() <{"value" = 24 : i64}> : () -> i64
        %41 = "llvm.getelementptr"(%launch, %40) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
        %42 = "llvm.atomicrmw"(%41, %25) {"bin_op" = "add", "ordering" = "monotonic", "syncscope" = ""} : (!llvm.ptr, i64) -> i64
        "weft.set"(%35, %42) : (!llvm.ptr<5>, i64) -> ()
        %43 = "arith.addi"(%42, %25) : (i64, i64) -> i64
        %44 = "arith.cmpi"(%43, %22) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
        %45 = "arith.select"(%44, %43, %22) : (i1, i64, i64) -> i64
        "weft.set"(%36, %45) : (!llvm.ptr<5>, i64) -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
      %46 = "weft.get"(%35) : (!llvm.ptr<5>) -> i64
      %47 = "arith.cmpi"(%46, %22) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%47) : (i1) -> ()
    }, {
      %48 = "weft.get"(%35) : (!llvm.ptr<5>) -> i64
      %49 = "arith.remui"(%48, %7) : (i64, i64) -> i64
      %50 = "arith.divui"(%48, %7) : (i64, i64) -> i64
      %51 = "arith.remui"(%50, %11) : (i64, i64) -> i64
      %52 = "arith.divui"(%50, %11) : (i64, i64) -> i64
      %53 = "arith.addi"(%48, %3) : (i64, i64) -> i64
      "weft.set"(%35, %53) : (!llvm.ptr<5>, i64) -> ()
      %54 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %55 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%54, %19, %55) ({
      ^bb0(%thread_x: i64):
        %57 = "llvm.getelementptr"(%x, %thread_x) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        "llvm.store"(%57, %thread_x) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      }) {"parallel" = true} : (i64, i64, i64) -> ()
      %58 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %59 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%58, %19, %59) ({
      ^bb0(%thread_x_60: i64):
        %61 = "llvm.getelementptr"(%x, %thread_x_60) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        "llvm.store"(%61, %3) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
        "weft.exit_thread"() : () -> ()
      }) {"parallel" = true} : (i64, i64, i64) -> ()
    }) {"blocks" = true} : () -> ()
    "weft.return"() : () -> ()
  }) {"weft.inline"} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr, !llvm.ptr) -> ()}> ({
  ^bb0(%args: !llvm.ptr, %launch: !llvm.ptr):
    %2 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %3 = "llvm.getelementptr"(%args, %2) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
    %4 = "llvm.load"(%3) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> !llvm.ptr<1>
    "func.call"(%4, %launch) <{"callee" = @k.loops}> : (!llvm.ptr<1>, !llvm.ptr) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
