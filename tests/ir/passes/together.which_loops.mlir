// Which loops all threads of a block run together, and the variables that are theirs together.
"builtin.module"() <{"sym_name" = "k"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64, i64) -> ()}> ({
  ^bb0(%a: !llvm.ptr<1>, %n: i64, %some: i64):
    %3 = "weft.slot"() {"elem_type" = i64, "name" = "turns"} : () -> !llvm.ptr<5>
    %4 = "weft.slot"() {"elem_type" = f32, "name" = "mine"} : () -> !llvm.ptr<5>
    %5 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %6 = "arith.constant"() <{"value" = 0.0 : f32}> : () -> f32
    "weft.set"(%4, %6) : (!llvm.ptr<5>, f32) -> ()
    %7 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %8 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%7, %n, %8) ({
    ^bb0(%i: i64):
      %10 = "weft.get"(%4) : (!llvm.ptr<5>) -> f32
      %11 = "arith.muli"(%i, %n) : (i64, i64) -> i64
      %12 = "arith.addi"(%11, %5) : (i64, i64) -> i64
      %13 = "llvm.getelementptr"(%a, %12) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %14 = "llvm.load"(%13) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %15 = "arith.addf"(%10, %14) <{"fastmath" = #arith.fastmath<contract>}> : (f32, f32) -> f32
      "weft.set"(%4, %15) : (!llvm.ptr<5>, f32) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %16 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %17 = "arith.constant"() <{"value" = 8 : i64}> : () -> i64
    %18 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%16, %17, %18) ({
    ^bb0(%i_19: i64):
      %20 = "weft.get"(%4) : (!llvm.ptr<5>) -> f32
      %21 = "arith.muli"(%i_19, %n) : (i64, i64) -> i64
      %22 = "arith.addi"(%21, %5) : (i64, i64) -> i64
      %23 = "llvm.getelementptr"(%a, %22) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %24 = "llvm.load"(%23) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %25 = "arith.addf"(%20, %24) <{"fastmath" = #arith.fastmath<contract>}> : (f32, f32) -> f32
      "weft.set"(%4, %25) : (!llvm.ptr<5>, f32) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %26 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %27 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%26, %n, %27) ({
    ^bb0(%i_28: i64):
      %29 = "weft.get"(%4) : (!llvm.ptr<5>) -> f32
      %30 = "arith.muli"(%5, %n) : (i64, i64) -> i64
      %31 = "arith.addi"(%30, %i_28) : (i64, i64) -> i64
      %32 = "llvm.getelementptr"(%a, %31) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %33 = "llvm.load"(%32) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %34 = "arith.addf"(%29, %33) <{"fastmath" = #arith.fastmath<contract>}> : (f32, f32) -> f32
      "weft.set"(%4, %34) : (!llvm.ptr<5>, f32) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %35 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %36 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%35, %5, %36) ({
    ^bb0(%i_37: i64):
      %38 = "weft.get"(%4) : (!llvm.ptr<5>) -> f32
      %39 = "llvm.getelementptr"(%a, %i_37) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %40 = "llvm.load"(%39) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %41 = "arith.addf"(%38, %40) <{"fastmath" = #arith.fastmath<contract>}> : (f32, f32) -> f32
      "weft.set"(%4, %41) : (!llvm.ptr<5>, f32) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %42 = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %43 = "arith.addi"(%42, %5) : (i64, i64) -> i64
    %44 = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    "weft.for"(%43, %n, %44) ({
    ^bb0(%i_45: i64):
      %46 = "weft.get"(%4) : (!llvm.ptr<5>) -> f32
      %47 = "arith.constant"() <{"value" = 3.0 : f32}> : () -> f32
      %48 = "arith.cmpf"(%46, %47) <{"predicate" = 2 : i64}> : (f32, f32) -> i1
      "weft.if"(%48) ({
        "weft.continue"() : () -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
      %49 = "weft.get"(%4) : (!llvm.ptr<5>) -> f32
      %50 = "llvm.getelementptr"(%a, %i_45) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %51 = "llvm.load"(%50) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %52 = "arith.addf"(%49, %51) <{"fastmath" = #arith.fastmath<contract>}> : (f32, f32) -> f32
      "weft.set"(%4, %52) : (!llvm.ptr<5>, f32) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %53 = "arith.addi"(%some, %5) : (i64, i64) -> i64
    %54 = "arith.constant"() <{"value" = 4 : i64}> : () -> i64
    "weft.for"(%53, %n, %54) ({
    ^bb0(%i_55: i64):
      %56 = "weft.get"(%4) : (!llvm.ptr<5>) -> f32
      %57 = "llvm.getelementptr"(%a, %i_55) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %58 = "llvm.load"(%57) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %59 = "arith.addf"(%56, %58) <{"fastmath" = #arith.fastmath<contract>}> : (f32, f32) -> f32
      "weft.set"(%4, %59) : (!llvm.ptr<5>, f32) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %60 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %61 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%60, %n, %61) ({
    ^bb0(%i_62: i64):
      %63 = "weft.get"(%4) : (!llvm.ptr<5>) -> f32
      %64 = "arith.constant"() <{"value" = 5.0 : f32}> : () -> f32
      %65 = "arith.cmpf"(%63, %64) <{"predicate" = 2 : i64}> : (f32, f32) -> i1
      "weft.if"(%65) ({
        "weft.break"() : () -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
      %66 = "weft.get"(%4) : (!llvm.ptr<5>) -> f32
      %67 = "arith.muli"(%i_62, %n) : (i64, i64) -> i64
      %68 = "arith.addi"(%67, %5) : (i64, i64) -> i64
      %69 = "llvm.getelementptr"(%a, %68) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %70 = "llvm.load"(%69) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %71 = "arith.addf"(%66, %70) <{"fastmath" = #arith.fastmath<contract>}> : (f32, f32) -> f32
      "weft.set"(%4, %71) : (!llvm.ptr<5>, f32) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %72 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    "weft.set"(%3, %72) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %73 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %74 = "arith.cmpi"(%73, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%74) : (i1) -> ()
    }, {
      %75 = "weft.get"(%4) : (!llvm.ptr<5>) -> f32
      %76 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %77 = "arith.muli"(%76, %n) : (i64, i64) -> i64
      %78 = "arith.addi"(%77, %5) : (i64, i64) -> i64
      %79 = "llvm.getelementptr"(%a, %78) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %80 = "llvm.load"(%79) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> f32
      %81 = "arith.addf"(%75, %80) <{"fastmath" = #arith.fastmath<contract>}> : (f32, f32) -> f32
      "weft.set"(%4, %81) : (!llvm.ptr<5>, f32) -> ()
      %82 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %83 = "arith.addi"(%82, %some) : (i64, i64) -> i64
      "weft.set"(%3, %83) : (!llvm.ptr<5>, i64) -> ()
    }) : () -> ()
    %84 = "weft.get"(%4) : (!llvm.ptr<5>) -> f32
    %85 = "llvm.getelementptr"(%a, %5) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%85, %84) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.alone" = array<i64: 0, 1, 2>} : () -> ()
}) {"weft.target" = "native"} : () -> ()
// After
// variable turns
// together: i
// each: i_19
// each: i_28
// together: i_37
// behind each other: i_45
// behind each other: i_55
// each: i_62
// together: while
