// A launch over a range: the loops end at its extents.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i1) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %flag: i1):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    "weft.assert"(%flag, %tx) {"site" = 0 : i64} : (i1, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.over_rank" = 2 : i64} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k.loops", "function_type" = (!llvm.ptr<1>, i1, !llvm.ptr) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %flag: i1, %launch: !llvm.ptr):
    %3 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %4 = "llvm.getelementptr"(%launch, %3) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %5 = "llvm.load"(%4) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %6 = "arith.extui"(%5) : (i32) -> i64
    %7 = "arith.constant"() <{"value" = 4 : i64}> : () -> i64
    %8 = "llvm.getelementptr"(%launch, %7) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %9 = "llvm.load"(%8) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %10 = "arith.extui"(%9) : (i32) -> i64
    %11 = "arith.constant"() <{"value" = 8 : i64}> : () -> i64
    %12 = "llvm.getelementptr"(%launch, %11) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %13 = "llvm.load"(%12) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %14 = "arith.extui"(%13) : (i32) -> i64
    %15 = "arith.constant"() <{"value" = 12 : i64}> : () -> i64
    %16 = "llvm.getelementptr"(%launch, %15) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %17 = "llvm.load"(%16) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %18 = "arith.extui"(%17) : (i32) -> i64
    %19 = "arith.constant"() <{"value" = 16 : i64}> : () -> i64
    %20 = "llvm.getelementptr"(%launch, %19) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %21 = "llvm.load"(%20) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %22 = "arith.extui"(%21) : (i32) -> i64
    %23 = "arith.constant"() <{"value" = 20 : i64}> : () -> i64
    %24 = "llvm.getelementptr"(%launch, %23) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %25 = "llvm.load"(%24) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %26 = "arith.extui"(%25) : (i32) -> i64
    %27 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
    %28 = "llvm.getelementptr"(%launch, %27) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %29 = "llvm.load"(%28) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %30 = "arith.constant"() <{"value" = 40 : i64}> : () -> i64
    %31 = "llvm.getelementptr"(%launch, %30) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %32 = "llvm.load"(%31) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %33 = "arith.constant"() <{"value" = 48 : i64}> : () -> i64
    %34 = "llvm.getelementptr"(%launch, %33) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %35 = "llvm.load"(%34) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %36 = "arith.constant"() <{"value" = 56 : i64}> : () -> i64
    %37 = "llvm.getelementptr"(%launch, %36) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %38 = "llvm.load"(%37) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %39 = "arith.constant"() <{"value" = 128 : i64}> : () -> i64
    %40 = "arith.addi"(%38, %39) : (i64, i64) -> i64
    %41 = "llvm.alloca"(%40) {"elem_type" = i8, "count" = 0 : i64, "alignment" = 128 : i64} : (i64) -> !llvm.ptr<3>
    %42 = "weft.slot"() {"elem_type" = i64, "name" = "start"} : () -> !llvm.ptr<5>
    %43 = "arith.constant"() <{"value" = 24 : i64}> : () -> i64
    %44 = "llvm.getelementptr"(%launch, %43) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %45 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %46 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.while"() ({
      %47 = "llvm.atomicrmw"(%44, %32) {"bin_op" = "add", "ordering" = "monotonic", "syncscope" = ""} : (!llvm.ptr, i64) -> i64
      "weft.set"(%42, %47) : (!llvm.ptr<5>, i64) -> ()
      %48 = "arith.cmpi"(%47, %29) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%48) : (i1) -> ()
    }, {
      %49 = "weft.get"(%42) : (!llvm.ptr<5>) -> i64
      %50 = "arith.addi"(%49, %32) : (i64, i64) -> i64
      %51 = "arith.cmpi"(%50, %29) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      %52 = "arith.select"(%51, %50, %29) : (i1, i64, i64) -> i64
      "weft.while"() ({
        %53 = "weft.get"(%42) : (!llvm.ptr<5>) -> i64
        %54 = "arith.cmpi"(%53, %52) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
        "weft.condition"(%54) : (i1) -> ()
      }, {
        %55 = "weft.get"(%42) : (!llvm.ptr<5>) -> i64
        %56 = "arith.remui"(%55, %6) : (i64, i64) -> i64
        %57 = "arith.divui"(%55, %6) : (i64, i64) -> i64
        %58 = "arith.remui"(%57, %10) : (i64, i64) -> i64
        %59 = "arith.divui"(%57, %10) : (i64, i64) -> i64
        %60 = "arith.subi"(%6, %56) : (i64, i64) -> i64
        %61 = "arith.subi"(%52, %55) : (i64, i64) -> i64
        %62 = "arith.cmpi"(%61, %60) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
        %63 = "arith.select"(%62, %61, %60) : (i1, i64, i64) -> i64
        %64 = "arith.addi"(%55, %63) : (i64, i64) -> i64
        "weft.set"(%42, %64) : (!llvm.ptr<5>, i64) -> ()
        %65 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
        %66 = "arith.muli"(%58, %22) : (i64, i64) -> i64
        %67 = "arith.constant"() <{"value" = 72 : i64}> : () -> i64
        %68 = "llvm.getelementptr"(%launch, %67) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
        %69 = "llvm.load"(%68) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
        %70 = "arith.subi"(%69, %66) : (i64, i64) -> i64
        %71 = "arith.cmpi"(%70, %22) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
        %72 = "arith.select"(%71, %70, %22) : (i1, i64, i64) -> i64
        %73 = "arith.addi"(%56, %63) : (i64, i64) -> i64
        %74 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
        "weft.for"(%65, %26, %74) ({
        ^bb0(%thread_z: i64):
          "weft.for"(%65, %72, %74) ({
          ^bb0(%thread_y: i64):
            "weft.for"(%56, %73, %74) ({
            ^bb0(%block_x: i64):
              %78 = "arith.muli"(%block_x, %18) : (i64, i64) -> i64
              %79 = "arith.constant"() <{"value" = 64 : i64}> : () -> i64
              %80 = "llvm.getelementptr"(%launch, %79) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
              %81 = "llvm.load"(%80) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
              %82 = "arith.subi"(%81, %78) : (i64, i64) -> i64
              %83 = "arith.cmpi"(%82, %18) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
              %84 = "arith.select"(%83, %82, %18) : (i1, i64, i64) -> i64
              %85 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
              "weft.for"(%65, %84, %85) ({
              ^bb0(%thread_x: i64):
                "weft.assert"(%flag, %thread_x) {"site" = 0 : i64} : (i1, i64) -> ()
                "weft.exit_thread"() : () -> ()
              }) {"parallel" = true} : (i64, i64, i64) -> ()
            }) {"parallel" = false} : (i64, i64, i64) -> ()
          }) {"parallel" = false} : (i64, i64, i64) -> ()
        }) {"parallel" = false} : (i64, i64, i64) -> ()
      }) {"blocks" = true} : () -> ()
    }) : () -> ()
    "weft.return"() : () -> ()
  }) {"weft.inline"} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr, !llvm.ptr) -> ()}> ({
  ^bb0(%args: !llvm.ptr, %launch: !llvm.ptr):
    %2 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %3 = "llvm.getelementptr"(%args, %2) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
    %4 = "llvm.load"(%3) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> !llvm.ptr<1>
    %5 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %6 = "llvm.getelementptr"(%args, %5) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
    %7 = "llvm.load"(%6) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i8
    %8 = "arith.constant"() <{"value" = 0 : i8}> : () -> i8
    %9 = "arith.cmpi"(%7, %8) <{"predicate" = 1 : i64}> : (i8, i8) -> i1
    "func.call"(%4, %9, %launch) <{"callee" = @k.loops}> : (!llvm.ptr<1>, i1, !llvm.ptr) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
