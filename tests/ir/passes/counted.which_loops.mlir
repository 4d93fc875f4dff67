// Loops that count become a range; in the others an end in memory is written, a variable is given twice, a
// step may be negative.
"builtin.module"() <{"sym_name" = "k"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64, i64) -> ()}> ({
  ^bb0(%a: !llvm.ptr<1>, %n: i64, %some: i64):
    %3 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %4 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %5 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %6 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %7 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %8 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %9 = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %10 = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %11 = "arith.muli"(%9, %10) : (i64, i64) -> i64
    %12 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %13 = "arith.addi"(%11, %12) : (i64, i64) -> i64
    "weft.set"(%8, %13) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %14 = "weft.get"(%8) : (!llvm.ptr<5>) -> i64
      %15 = "arith.cmpi"(%14, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%15) : (i1) -> ()
    }, {
      %16 = "weft.get"(%8) : (!llvm.ptr<5>) -> i64
      %17 = "llvm.getelementptr"(%a, %16) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%17, %16) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      %18 = "gpu.grid_dim"() {"dimension" = "x"} : () -> i64
      %19 = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
      %20 = "arith.muli"(%18, %19) : (i64, i64) -> i64
      %21 = "arith.addi"(%16, %20) : (i64, i64) -> i64
      "weft.set"(%8, %21) : (!llvm.ptr<5>, i64) -> ()
    }) : () -> ()
    %22 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    "weft.set"(%7, %22) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %23 = "arith.constant"() <{"value" = true}> : () -> i1
      "weft.condition"(%23) : (i1) -> ()
    }, {
      %24 = "weft.get"(%7) : (!llvm.ptr<5>) -> i64
      %25 = "arith.cmpi"(%n, %24) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.if"(%25) ({
        "weft.break"() : () -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
      %26 = "arith.constant"() <{"value" = 64 : i64}> : () -> i64
      %27 = "arith.addi"(%26, %24) : (i64, i64) -> i64
      "weft.set"(%7, %27) : (!llvm.ptr<5>, i64) -> ()
      %28 = "weft.get"(%7) : (!llvm.ptr<5>) -> i64
      %29 = "llvm.getelementptr"(%a, %28) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%29, %n) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }) : () -> ()
    %30 = "weft.get"(%7) : (!llvm.ptr<5>) -> i64
    %31 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %32 = "llvm.getelementptr"(%a, %31) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%32, %30) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    %33 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    "weft.set"(%6, %33) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %34 = "weft.get"(%6) : (!llvm.ptr<5>) -> i64
      %35 = "llvm.getelementptr"(%a, %n) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %36 = "llvm.load"(%35) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
      %37 = "arith.cmpi"(%34, %36) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%37) : (i1) -> ()
    }, {
      %38 = "weft.get"(%6) : (!llvm.ptr<5>) -> i64
      %39 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
      %40 = "arith.addi"(%38, %39) : (i64, i64) -> i64
      "weft.set"(%6, %40) : (!llvm.ptr<5>, i64) -> ()
      %41 = "weft.get"(%6) : (!llvm.ptr<5>) -> i64
      %42 = "arith.cmpi"(%41, %some) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
      "weft.if"(%42) ({
        %43 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
        %44 = "llvm.getelementptr"(%a, %43) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        "llvm.store"(%44, %n) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
    }) : () -> ()
    %45 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    "weft.set"(%5, %45) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %46 = "weft.get"(%5) : (!llvm.ptr<5>) -> i64
      %47 = "arith.cmpi"(%46, %some) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%47) : (i1) -> ()
    }, {
      %48 = "weft.get"(%5) : (!llvm.ptr<5>) -> i64
      %49 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      %50 = "arith.addi"(%48, %49) : (i64, i64) -> i64
      "weft.set"(%5, %50) : (!llvm.ptr<5>, i64) -> ()
      %51 = "weft.get"(%5) : (!llvm.ptr<5>) -> i64
      %52 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
      %53 = "llvm.getelementptr"(%a, %52) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%53, %51) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }) : () -> ()
    %54 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    "weft.set"(%4, %54) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %55 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %56 = "arith.cmpi"(%55, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%56) : (i1) -> ()
    }, {
      %57 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %58 = "arith.constant"() <{"value" = 3 : i64}> : () -> i64
      %59 = "arith.cmpi"(%57, %58) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
      "weft.if"(%59) ({
        %60 = "arith.constant"() <{"value" = 5 : i64}> : () -> i64
        %61 = "arith.addi"(%57, %60) : (i64, i64) -> i64
        "weft.set"(%4, %61) : (!llvm.ptr<5>, i64) -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
      %62 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %63 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      %64 = "arith.addi"(%62, %63) : (i64, i64) -> i64
      "weft.set"(%4, %64) : (!llvm.ptr<5>, i64) -> ()
      %65 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %66 = "arith.constant"() <{"value" = 3 : i64}> : () -> i64
      %67 = "llvm.getelementptr"(%a, %66) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%67, %65) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }) : () -> ()
    %68 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    "weft.set"(%3, %68) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %69 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %70 = "arith.cmpi"(%69, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%70) : (i1) -> ()
    }, {
      %71 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %72 = "arith.addi"(%71, %some) : (i64, i64) -> i64
      "weft.set"(%3, %72) : (!llvm.ptr<5>, i64) -> ()
      %73 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %74 = "arith.constant"() <{"value" = 4 : i64}> : () -> i64
      %75 = "llvm.getelementptr"(%a, %74) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%75, %73) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }) : () -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.block_rank" = 1 : i64, "weft.alone" = array<i64: 0, 1, 2>} : () -> ()
}) {"weft.target" = "native"} : () -> ()
// After
"builtin.module"() <{"sym_name" = "k"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64, i64) -> ()}> ({
  ^bb0(%a: !llvm.ptr<1>, %n: i64, %some: i64):
    %3 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %4 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %5 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %6 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %7 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %8 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %9 = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %10 = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %11 = "arith.muli"(%9, %10) : (i64, i64) -> i64
    %12 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %13 = "arith.addi"(%11, %12) : (i64, i64) -> i64
    %14 = "gpu.grid_dim"() {"dimension" = "x"} : () -> i64
    %15 = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %16 = "arith.muli"(%14, %15) : (i64, i64) -> i64
    "weft.for"(%13, %n, %16) ({
    ^bb0(%i: i64):
      %18 = "llvm.getelementptr"(%a, %i) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%18, %i) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      %19 = "gpu.grid_dim"() {"dimension" = "x"} : () -> i64
      %20 = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
      %21 = "arith.muli"(%19, %20) : (i64, i64) -> i64
      %22 = "arith.addi"(%i, %21) : (i64, i64) -> i64
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %23 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    "weft.set"(%7, %23) : (!llvm.ptr<5>, i64) -> ()
    %24 = "arith.constant"() <{"value" = 64 : i64}> : () -> i64
    %25 = "arith.constant"() <{"value" = 9223372036854775807 : i64}> : () -> i64
    %26 = "arith.cmpi"(%n, %25) <{"predicate" = 1 : i64}> : (i64, i64) -> i1
    %27 = "arith.extui"(%26) : (i1) -> i64
    %28 = "arith.addi"(%n, %27) : (i64, i64) -> i64
    "weft.for"(%23, %28, %24) ({
    ^bb0(%i_29: i64):
      %30 = "arith.cmpi"(%n, %i_29) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      %31 = "arith.constant"() <{"value" = 64 : i64}> : () -> i64
      %32 = "arith.addi"(%31, %i_29) : (i64, i64) -> i64
      "weft.set"(%7, %32) : (!llvm.ptr<5>, i64) -> ()
      %33 = "llvm.getelementptr"(%a, %32) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%33, %n) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %34 = "weft.get"(%7) : (!llvm.ptr<5>) -> i64
    %35 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %36 = "llvm.getelementptr"(%a, %35) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%36, %34) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    %37 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    "weft.set"(%6, %37) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %38 = "weft.get"(%6) : (!llvm.ptr<5>) -> i64
      %39 = "llvm.getelementptr"(%a, %n) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %40 = "llvm.load"(%39) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
      %41 = "arith.cmpi"(%38, %40) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%41) : (i1) -> ()
    }, {
      %42 = "weft.get"(%6) : (!llvm.ptr<5>) -> i64
      %43 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
      %44 = "arith.addi"(%42, %43) : (i64, i64) -> i64
      "weft.set"(%6, %44) : (!llvm.ptr<5>, i64) -> ()
      %45 = "weft.get"(%6) : (!llvm.ptr<5>) -> i64
      %46 = "arith.cmpi"(%45, %some) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
      "weft.if"(%46) ({
        %47 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
        %48 = "llvm.getelementptr"(%a, %47) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        "llvm.store"(%48, %n) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
    }) : () -> ()
    %49 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %50 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%49, %some, %50) ({
    ^bb0(%i_51: i64):
      %52 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      %53 = "arith.addi"(%i_51, %52) : (i64, i64) -> i64
      %54 = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
      %55 = "llvm.getelementptr"(%a, %54) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%55, %53) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %56 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    "weft.set"(%4, %56) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %57 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %58 = "arith.cmpi"(%57, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%58) : (i1) -> ()
    }, {
      %59 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %60 = "arith.constant"() <{"value" = 3 : i64}> : () -> i64
      %61 = "arith.cmpi"(%59, %60) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
      "weft.if"(%61) ({
        %62 = "arith.constant"() <{"value" = 5 : i64}> : () -> i64
        %63 = "arith.addi"(%59, %62) : (i64, i64) -> i64
        "weft.set"(%4, %63) : (!llvm.ptr<5>, i64) -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
      %64 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %65 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      %66 = "arith.addi"(%64, %65) : (i64, i64) -> i64
      "weft.set"(%4, %66) : (!llvm.ptr<5>, i64) -> ()
      %67 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
      %68 = "arith.constant"() <{"value" = 3 : i64}> : () -> i64
      %69 = "llvm.getelementptr"(%a, %68) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%69, %67) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }) : () -> ()
    %70 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    "weft.set"(%3, %70) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %71 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %72 = "arith.cmpi"(%71, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%72) : (i1) -> ()
    }, {
      %73 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %74 = "arith.addi"(%73, %some) : (i64, i64) -> i64
      "weft.set"(%3, %74) : (!llvm.ptr<5>, i64) -> ()
      %75 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %76 = "arith.constant"() <{"value" = 4 : i64}> : () -> i64
      %77 = "llvm.getelementptr"(%a, %76) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%77, %75) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }) : () -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.block_rank" = 1 : i64, "weft.alone" = array<i64: 0, 1, 2>} : () -> ()
}) {"weft.target" = "native"} : () -> ()
