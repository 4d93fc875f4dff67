// Of loops with exchanges those of a few known rounds are written out; who leaves one, or how long it goes on,
// is not known of the others.
"builtin.module"() <{"sym_name" = "k"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%a: !llvm.ptr<1>, %n: i64):
    %2 = "weft.slot"() {"elem_type" = i64, "name" = "offset"} : () -> !llvm.ptr<5>
    %3 = "weft.slot"() {"elem_type" = i64, "name" = "offset"} : () -> !llvm.ptr<5>
    %4 = "weft.slot"() {"elem_type" = i64, "name" = "x"} : () -> !llvm.ptr<5>
    %5 = "weft.slot"() {"elem_type" = i64, "name" = "offset"} : () -> !llvm.ptr<5>
    %6 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %7 = "llvm.getelementptr"(%a, %6) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    %8 = "llvm.load"(%7) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
    %9 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
    "weft.set"(%5, %9) : (!llvm.ptr<5>, i64) -> ()
    "weft.set"(%4, %8) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %10 = "weft.get"(%5) : (!llvm.ptr<5>) -> i64
      %11 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %12 = "arith.cmpi"(%10, %11) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
      "weft.condition"(%12) : (i1) -> ()
    }, {
      %13 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %14 = "weft.get"(%5) : (!llvm.ptr<5>) -> i64
      %15 = "gpu.lane_id"() : () -> i64
      %16 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %17 = "arith.andi"(%14, %16) : (i64, i64) -> i64
      %18 = "arith.constant"() <{"value" = -32 : i64}> : () -> i64
      %19 = "arith.andi"(%15, %18) : (i64, i64) -> i64
      %20 = "arith.xori"(%15, %17) : (i64, i64) -> i64
      %21 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %22 = "arith.ori"(%19, %21) : (i64, i64) -> i64
      %23 = "arith.cmpi"(%20, %22) <{"predicate" = 3 : i64}> : (i64, i64) -> i1
      %24 = "arith.select"(%23, %20, %15) : (i1, i64, i64) -> i64
      %25 = "gpu.shuffle"(%13, %24) : (i64, i64) -> i64
      %26 = "arith.addi"(%13, %25) : (i64, i64) -> i64
      "weft.set"(%4, %26) : (!llvm.ptr<5>, i64) -> ()
      %27 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
      %28 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      %29 = "arith.shrsi"(%14, %28) : (i64, i64) -> i64
      "weft.set"(%5, %29) : (!llvm.ptr<5>, i64) -> ()
    }) : () -> ()
    %30 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %31 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
    %32 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%30, %31, %32) ({
    ^bb0(%i: i64):
      %34 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %35 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      %36 = "arith.constant"() <{"value" = 64 : i64}> : () -> i64
      %37 = "arith.cmpi"(%i, %36) <{"predicate" = 6 : i64}> : (i64, i64) -> i1
      %38 = "arith.constant"() <{"value" = 63 : i64}> : () -> i64
      %39 = "arith.andi"(%i, %38) : (i64, i64) -> i64
      %40 = "arith.shli"(%35, %39) : (i64, i64) -> i64
      %41 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %42 = "arith.select"(%37, %40, %41) : (i1, i64, i64) -> i64
      %43 = "gpu.lane_id"() : () -> i64
      %44 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %45 = "arith.andi"(%42, %44) : (i64, i64) -> i64
      %46 = "arith.constant"() <{"value" = -32 : i64}> : () -> i64
      %47 = "arith.andi"(%43, %46) : (i64, i64) -> i64
      %48 = "arith.xori"(%43, %45) : (i64, i64) -> i64
      %49 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %50 = "arith.ori"(%47, %49) : (i64, i64) -> i64
      %51 = "arith.cmpi"(%48, %50) <{"predicate" = 3 : i64}> : (i64, i64) -> i1
      %52 = "arith.select"(%51, %48, %43) : (i1, i64, i64) -> i64
      %53 = "gpu.shuffle"(%34, %52) : (i64, i64) -> i64
      %54 = "arith.addi"(%34, %53) : (i64, i64) -> i64
      "weft.set"(%4, %54) : (!llvm.ptr<5>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %55 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
    "weft.set"(%3, %55) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %56 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %57 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %58 = "arith.cmpi"(%56, %57) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
      "weft.condition"(%58) : (i1) -> ()
    }, {
      %59 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %60 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %61 = "gpu.lane_id"() : () -> i64
      %62 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %63 = "arith.andi"(%60, %62) : (i64, i64) -> i64
      %64 = "arith.constant"() <{"value" = -32 : i64}> : () -> i64
      %65 = "arith.andi"(%61, %64) : (i64, i64) -> i64
      %66 = "arith.xori"(%61, %63) : (i64, i64) -> i64
      %67 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %68 = "arith.ori"(%65, %67) : (i64, i64) -> i64
      %69 = "arith.cmpi"(%66, %68) <{"predicate" = 3 : i64}> : (i64, i64) -> i1
      %70 = "arith.select"(%69, %66, %61) : (i1, i64, i64) -> i64
      %71 = "gpu.shuffle"(%59, %70) : (i64, i64) -> i64
      %72 = "arith.addi"(%59, %71) : (i64, i64) -> i64
      "weft.set"(%4, %72) : (!llvm.ptr<5>, i64) -> ()
      %73 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %74 = "arith.cmpi"(%73, %n) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
      "weft.if"(%74) ({
        "weft.break"() : () -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
      %75 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
      %76 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      %77 = "arith.shrsi"(%60, %76) : (i64, i64) -> i64
      "weft.set"(%3, %77) : (!llvm.ptr<5>, i64) -> ()
    }) : () -> ()
    %78 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.set"(%2, %78) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %79 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
      %80 = "arith.cmpi"(%79, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%80) : (i1) -> ()
    }, {
      %81 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %82 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
      %83 = "gpu.lane_id"() : () -> i64
      %84 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %85 = "arith.andi"(%82, %84) : (i64, i64) -> i64
      %86 = "arith.constant"() <{"value" = -32 : i64}> : () -> i64
      %87 = "arith.andi"(%83, %86) : (i64, i64) -> i64
      %88 = "arith.xori"(%83, %85) : (i64, i64) -> i64
      %89 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %90 = "arith.ori"(%87, %89) : (i64, i64) -> i64
      %91 = "arith.cmpi"(%88, %90) <{"predicate" = 3 : i64}> : (i64, i64) -> i1
      %92 = "arith.select"(%91, %88, %83) : (i1, i64, i64) -> i64
      %93 = "gpu.shuffle"(%81, %92) : (i64, i64) -> i64
      %94 = "arith.addi"(%81, %93) : (i64, i64) -> i64
      "weft.set"(%4, %94) : (!llvm.ptr<5>, i64) -> ()
      %95 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
      %96 = "arith.muli"(%82, %95) : (i64, i64) -> i64
      "weft.set"(%2, %96) : (!llvm.ptr<5>, i64) -> ()
    }) : () -> ()
    %97 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
    %98 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %99 = "llvm.getelementptr"(%a, %98) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%99, %97) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.block_rank" = 1 : i64, "weft.alone" = array<i64: 1>} : () -> ()
}) {"weft.target" = "native"} : () -> ()
// After
"builtin.module"() <{"sym_name" = "k"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%a: !llvm.ptr<1>, %n: i64):
    %2 = "weft.slot"() {"elem_type" = i64, "name" = "offset"} : () -> !llvm.ptr<5>
    %3 = "weft.slot"() {"elem_type" = i64, "name" = "offset"} : () -> !llvm.ptr<5>
    %4 = "weft.slot"() {"elem_type" = i64, "name" = "x"} : () -> !llvm.ptr<5>
    %5 = "weft.slot"() {"elem_type" = i64, "name" = "offset"} : () -> !llvm.ptr<5>
    %6 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %7 = "llvm.getelementptr"(%a, %6) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    %8 = "llvm.load"(%7) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
    %9 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
    "weft.set"(%5, %9) : (!llvm.ptr<5>, i64) -> ()
    "weft.set"(%4, %8) : (!llvm.ptr<5>, i64) -> ()
    %10 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
    %11 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %12 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
    %13 = "gpu.lane_id"() : () -> i64
    %14 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
    %15 = "arith.andi"(%10, %14) : (i64, i64) -> i64
    %16 = "arith.constant"() <{"value" = -32 : i64}> : () -> i64
    %17 = "arith.andi"(%13, %16) : (i64, i64) -> i64
    %18 = "arith.xori"(%13, %15) : (i64, i64) -> i64
    %19 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
    %20 = "arith.ori"(%17, %19) : (i64, i64) -> i64
    %21 = "arith.cmpi"(%18, %20) <{"predicate" = 3 : i64}> : (i64, i64) -> i1
    %22 = "arith.select"(%21, %18, %13) : (i1, i64, i64) -> i64
    %23 = "gpu.shuffle"(%12, %22) {"mask" = array<i64: 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 18, 19, 16, 17, 22, 23, 20, 21, 26, 27, 24, 25, 30, 31, 28, 29>} : (i64, i64) -> i64
    %24 = "arith.addi"(%12, %23) : (i64, i64) -> i64
    "weft.set"(%4, %24) : (!llvm.ptr<5>, i64) -> ()
    %25 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
    %26 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %27 = "arith.shrsi"(%10, %26) : (i64, i64) -> i64
    "weft.set"(%5, %27) : (!llvm.ptr<5>, i64) -> ()
    %28 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %29 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %30 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
    %31 = "gpu.lane_id"() : () -> i64
    %32 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
    %33 = "arith.andi"(%28, %32) : (i64, i64) -> i64
    %34 = "arith.constant"() <{"value" = -32 : i64}> : () -> i64
    %35 = "arith.andi"(%31, %34) : (i64, i64) -> i64
    %36 = "arith.xori"(%31, %33) : (i64, i64) -> i64
    %37 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
    %38 = "arith.ori"(%35, %37) : (i64, i64) -> i64
    %39 = "arith.cmpi"(%36, %38) <{"predicate" = 3 : i64}> : (i64, i64) -> i1
    %40 = "arith.select"(%39, %36, %31) : (i1, i64, i64) -> i64
    %41 = "gpu.shuffle"(%30, %40) {"mask" = array<i64: 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14, 17, 16, 19, 18, 21, 20, 23, 22, 25, 24, 27, 26, 29, 28, 31, 30>} : (i64, i64) -> i64
    %42 = "arith.addi"(%30, %41) : (i64, i64) -> i64
    "weft.set"(%4, %42) : (!llvm.ptr<5>, i64) -> ()
    %43 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
    %44 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %45 = "arith.shrsi"(%28, %44) : (i64, i64) -> i64
    "weft.set"(%5, %45) : (!llvm.ptr<5>, i64) -> ()
    %46 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %47 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
    %48 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %49 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %50 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
    %51 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %52 = "arith.constant"() <{"value" = 64 : i64}> : () -> i64
    %53 = "arith.cmpi"(%49, %52) <{"predicate" = 6 : i64}> : (i64, i64) -> i1
    %54 = "arith.constant"() <{"value" = 63 : i64}> : () -> i64
    %55 = "arith.andi"(%49, %54) : (i64, i64) -> i64
    %56 = "arith.shli"(%51, %55) : (i64, i64) -> i64
    %57 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %58 = "arith.select"(%53, %56, %57) : (i1, i64, i64) -> i64
    %59 = "gpu.lane_id"() : () -> i64
    %60 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
    %61 = "arith.andi"(%58, %60) : (i64, i64) -> i64
    %62 = "arith.constant"() <{"value" = -32 : i64}> : () -> i64
    %63 = "arith.andi"(%59, %62) : (i64, i64) -> i64
    %64 = "arith.xori"(%59, %61) : (i64, i64) -> i64
    %65 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
    %66 = "arith.ori"(%63, %65) : (i64, i64) -> i64
    %67 = "arith.cmpi"(%64, %66) <{"predicate" = 3 : i64}> : (i64, i64) -> i1
    %68 = "arith.select"(%67, %64, %59) : (i1, i64, i64) -> i64
    %69 = "gpu.shuffle"(%50, %68) {"mask" = array<i64: 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14, 17, 16, 19, 18, 21, 20, 23, 22, 25, 24, 27, 26, 29, 28, 31, 30>} : (i64, i64) -> i64
    %70 = "arith.addi"(%50, %69) : (i64, i64) -> i64
    "weft.set"(%4, %70) : (!llvm.ptr<5>, i64) -> ()
    %71 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %72 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
    %73 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %74 = "arith.constant"() <{"value" = 64 : i64}> : () -> i64
    %75 = "arith.cmpi"(%71, %74) <{"predicate" = 6 : i64}> : (i64, i64) -> i1
    %76 = "arith.constant"() <{"value" = 63 : i64}> : () -> i64
    %77 = "arith.andi"(%71, %76) : (i64, i64) -> i64
    %78 = "arith.shli"(%73, %77) : (i64, i64) -> i64
    %79 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %80 = "arith.select"(%75, %78, %79) : (i1, i64, i64) -> i64
    %81 = "gpu.lane_id"() : () -> i64
    %82 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
    %83 = "arith.andi"(%80, %82) : (i64, i64) -> i64
    %84 = "arith.constant"() <{"value" = -32 : i64}> : () -> i64
    %85 = "arith.andi"(%81, %84) : (i64, i64) -> i64
    %86 = "arith.xori"(%81, %83) : (i64, i64) -> i64
    %87 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
    %88 = "arith.ori"(%85, %87) : (i64, i64) -> i64
    %89 = "arith.cmpi"(%86, %88) <{"predicate" = 3 : i64}> : (i64, i64) -> i1
    %90 = "arith.select"(%89, %86, %81) : (i1, i64, i64) -> i64
    %91 = "gpu.shuffle"(%72, %90) {"mask" = array<i64: 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 18, 19, 16, 17, 22, 23, 20, 21, 26, 27, 24, 25, 30, 31, 28, 29>} : (i64, i64) -> i64
    %92 = "arith.addi"(%72, %91) : (i64, i64) -> i64
    "weft.set"(%4, %92) : (!llvm.ptr<5>, i64) -> ()
    %93 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
    "weft.set"(%3, %93) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %94 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %95 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %96 = "arith.cmpi"(%94, %95) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
      "weft.condition"(%96) : (i1) -> ()
    }, {
      %97 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %98 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %99 = "gpu.lane_id"() : () -> i64
      %100 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %101 = "arith.andi"(%98, %100) : (i64, i64) -> i64
      %102 = "arith.constant"() <{"value" = -32 : i64}> : () -> i64
      %103 = "arith.andi"(%99, %102) : (i64, i64) -> i64
      %104 = "arith.xori"(%99, %101) : (i64, i64) -> i64
      %105 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %106 = "arith.ori"(%103, %105) : (i64, i64) -> i64
      %107 = "arith.cmpi"(%104, %106) <{"predicate" = 3 : i64}> : (i64, i64) -> i1
      %108 = "arith.select"(%107, %104, %99) : (i1, i64, i64) -> i64
      %109 = "gpu.shuffle"(%97, %108) : (i64, i64) -> i64
      %110 = "arith.addi"(%97, %109) : (i64, i64) -> i64
      "weft.set"(%4, %110) : (!llvm.ptr<5>, i64) -> ()
      %111 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %112 = "arith.cmpi"(%111, %n) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
      "weft.if"(%112) ({
        "weft.break"() : () -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
      %113 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
      %114 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      %115 = "arith.shrsi"(%98, %114) : (i64, i64) -> i64
      "weft.set"(%3, %115) : (!llvm.ptr<5>, i64) -> ()
    }) : () -> ()
    %116 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.set"(%2, %116) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %117 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
      %118 = "arith.cmpi"(%117, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%118) : (i1) -> ()
    }, {
      %119 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %120 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
      %121 = "gpu.lane_id"() : () -> i64
      %122 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %123 = "arith.andi"(%120, %122) : (i64, i64) -> i64
      %124 = "arith.constant"() <{"value" = -32 : i64}> : () -> i64
      %125 = "arith.andi"(%121, %124) : (i64, i64) -> i64
      %126 = "arith.xori"(%121, %123) : (i64, i64) -> i64
      %127 = "arith.constant"() <{"value" = 31 : i64}> : () -> i64
      %128 = "arith.ori"(%125, %127) : (i64, i64) -> i64
      %129 = "arith.cmpi"(%126, %128) <{"predicate" = 3 : i64}> : (i64, i64) -> i1
      %130 = "arith.select"(%129, %126, %121) : (i1, i64, i64) -> i64
      %131 = "gpu.shuffle"(%119, %130) : (i64, i64) -> i64
      %132 = "arith.addi"(%119, %131) : (i64, i64) -> i64
      "weft.set"(%4, %132) : (!llvm.ptr<5>, i64) -> ()
      %133 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
      %134 = "arith.muli"(%120, %133) : (i64, i64) -> i64
      "weft.set"(%2, %134) : (!llvm.ptr<5>, i64) -> ()
    }) : () -> ()
    %135 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
    %136 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %137 = "llvm.getelementptr"(%a, %136) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%137, %135) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.block_rank" = 1 : i64, "weft.alone" = array<i64: 1>} : () -> ()
}) {"weft.target" = "native"} : () -> ()
