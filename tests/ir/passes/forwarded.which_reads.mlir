// Variables that are given something once, or in a branch, and those that a loop gives another value each time.
"builtin.module"() <{"sym_name" = "k"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%a: !llvm.ptr<1>, %n: i64):
    %2 = "weft.slot"() {"elem_type" = i64, "name" = "last"} : () -> !llvm.ptr<5>
    %3 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %4 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    "weft.set"(%3, %4) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %5 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %6 = "arith.cmpi"(%5, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%6) : (i1) -> ()
    }, {
      %7 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %8 = "arith.constant"() <{"value" = 3 : i64}> : () -> i64
      %9 = "arith.muli"(%7, %8) : (i64, i64) -> i64
      "weft.set"(%3, %9) : (!llvm.ptr<5>, i64) -> ()
    }) : () -> ()
    %10 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %11 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%10, %n, %11) ({
    ^bb0(%i: i64):
      "weft.set"(%3, %i) : (!llvm.ptr<5>, i64) -> ()
      %13 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %14 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%13, %n, %14) ({
      ^bb0(%i_15: i64):
        %16 = "llvm.getelementptr"(%a, %i_15) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        %17 = "llvm.load"(%16) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
        %18 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
        %19 = "arith.addi"(%17, %18) : (i64, i64) -> i64
        %20 = "llvm.getelementptr"(%a, %i_15) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        "llvm.store"(%20, %19) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
      %21 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %22 = "llvm.getelementptr"(%a, %21) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %23 = "llvm.load"(%22) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
      %24 = "arith.constant"() <{"value" = 5 : i64}> : () -> i64
      %25 = "arith.cmpi"(%23, %24) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
      "weft.if"(%25) ({
        %26 = "arith.constant"() <{"value" = 7 : i64}> : () -> i64
        "weft.set"(%3, %26) : (!llvm.ptr<5>, i64) -> ()
        %27 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
        %28 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
        %29 = "llvm.getelementptr"(%a, %28) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        "llvm.store"(%29, %27) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
      %30 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %31 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      %32 = "llvm.getelementptr"(%a, %30) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%32, %31) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.set"(%2, %n) : (!llvm.ptr<5>, i64) -> ()
    %33 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %34 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%33, %n, %34) ({
    ^bb0(%i_35: i64):
      %36 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
      %37 = "llvm.getelementptr"(%a, %i_35) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%37, %36) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      "weft.set"(%2, %i_35) : (!llvm.ptr<5>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.block_rank" = 1 : i64, "weft.alone" = array<i64: 0, 1>} : () -> ()
}) {"weft.target" = "native"} : () -> ()
// After
"builtin.module"() <{"sym_name" = "k"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%a: !llvm.ptr<1>, %n: i64):
    %2 = "weft.slot"() {"elem_type" = i64, "name" = "last"} : () -> !llvm.ptr<5>
    %3 = "weft.slot"() {"elem_type" = i64, "name" = "i"} : () -> !llvm.ptr<5>
    %4 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    "weft.set"(%3, %4) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %5 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %6 = "arith.cmpi"(%5, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%6) : (i1) -> ()
    }, {
      %7 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %8 = "arith.constant"() <{"value" = 3 : i64}> : () -> i64
      %9 = "arith.muli"(%7, %8) : (i64, i64) -> i64
      "weft.set"(%3, %9) : (!llvm.ptr<5>, i64) -> ()
    }) : () -> ()
    %10 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %11 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%10, %n, %11) ({
    ^bb0(%i: i64):
      "weft.set"(%3, %i) : (!llvm.ptr<5>, i64) -> ()
      %13 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %14 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%13, %n, %14) ({
      ^bb0(%i_15: i64):
        %16 = "llvm.getelementptr"(%a, %i_15) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        %17 = "llvm.load"(%16) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
        %18 = "arith.addi"(%17, %i) : (i64, i64) -> i64
        %19 = "llvm.getelementptr"(%a, %i_15) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        "llvm.store"(%19, %18) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
      %20 = "llvm.getelementptr"(%a, %i) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %21 = "llvm.load"(%20) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
      %22 = "arith.constant"() <{"value" = 5 : i64}> : () -> i64
      %23 = "arith.cmpi"(%21, %22) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
      "weft.if"(%23) ({
        %24 = "arith.constant"() <{"value" = 7 : i64}> : () -> i64
        "weft.set"(%3, %24) : (!llvm.ptr<5>, i64) -> ()
        %25 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
        %26 = "llvm.getelementptr"(%a, %25) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
        "llvm.store"(%26, %24) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
      %27 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %28 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      %29 = "llvm.getelementptr"(%a, %27) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%29, %28) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.set"(%2, %n) : (!llvm.ptr<5>, i64) -> ()
    %30 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %31 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%30, %n, %31) ({
    ^bb0(%i_35: i64):
      %33 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
      %34 = "llvm.getelementptr"(%a, %i_35) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      "llvm.store"(%34, %33) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      "weft.set"(%2, %i_35) : (!llvm.ptr<5>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.block_rank" = 1 : i64, "weft.alone" = array<i64: 0, 1>} : () -> ()
}) {"weft.target" = "native"} : () -> ()
