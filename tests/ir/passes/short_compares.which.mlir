// Threads compare their index in 32 bits with what all of them share, whatever that is; where something is added
// to the index the sum must not wrap around, and where each compares with its own they compare in 64 bits.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64, i64, i32) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %far: i64, %near: i32):
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %first = "arith.extsi"(%near) : (i32) -> i64
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      %alike = "arith.cmpi"(%i, %far) <{"predicate" = "sge"}> : (i64, i64) -> i1
      "weft.if"(%alike) ({
        %place = "arith.addi"(%i, %first) : (i64, i64) -> i64
        %behind = "arith.cmpi"(%far, %place) <{"predicate" = "sle"}> : (i64, i64) -> i1
        "weft.if"(%behind) ({
          %at = "llvm.getelementptr"(%x, %i) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
          %v = "llvm.load"(%at) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
          %sum = "arith.addi"(%i, %far) : (i64, i64) -> i64
          %own = "arith.cmpi"(%i, %v) <{"predicate" = "slt"}> : (i64, i64) -> i1
          %wraps = "arith.cmpi"(%sum, %one) <{"predicate" = "slt"}> : (i64, i64) -> i1
          %unsigned = "arith.cmpi"(%i, %far) <{"predicate" = "ult"}> : (i64, i64) -> i1
          %known = "arith.cmpi"(%i, %one) <{"predicate" = "eq"}> : (i64, i64) -> i1
        }, {
        }) : (i1) -> ()
      }, {
      }) : (i1) -> ()
    }) {"parallel" = true} : (i64, i64, i64) -> ()
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%j: i64):
      %other = "arith.cmpi"(%j, %far) <{"predicate" = "slt"}> : (i64, i64) -> i1
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64, i64, i32) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %far: i64, %near: i32):
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %first = "arith.extsi"(%near) : (i32) -> i64
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      %8 = "arith.trunci"(%i) : (i64) -> i32
      %9 = "arith.constant"() <{"value" = -1 : i64}> : () -> i64
      %10 = "arith.cmpi"(%far, %9) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
      %11 = "arith.select"(%10, %far, %9) : (i1, i64, i64) -> i64
      %12 = "arith.constant"() <{"value" = 1073741824 : i64}> : () -> i64
      %13 = "arith.cmpi"(%11, %12) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      %14 = "arith.select"(%13, %11, %12) : (i1, i64, i64) -> i64
      %15 = "arith.trunci"(%14) : (i64) -> i32
      %alike = "arith.cmpi"(%8, %15) <{"predicate" = 5 : i64}> : (i32, i32) -> i1
      "weft.if"(%alike) ({
        %place = "arith.addi"(%i, %first) : (i64, i64) -> i64
        %18 = "arith.constant"() <{"value" = -2147483649 : i64}> : () -> i64
        %19 = "arith.cmpi"(%far, %18) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
        %20 = "arith.select"(%19, %far, %18) : (i1, i64, i64) -> i64
        %21 = "arith.constant"() <{"value" = 3221225471 : i64}> : () -> i64
        %22 = "arith.cmpi"(%20, %21) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
        %23 = "arith.select"(%22, %20, %21) : (i1, i64, i64) -> i64
        %24 = "arith.subi"(%23, %first) : (i64, i64) -> i64
        %25 = "arith.constant"() <{"value" = -1 : i64}> : () -> i64
        %26 = "arith.cmpi"(%24, %25) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
        %27 = "arith.select"(%26, %24, %25) : (i1, i64, i64) -> i64
        %28 = "arith.constant"() <{"value" = 1073741824 : i64}> : () -> i64
        %29 = "arith.cmpi"(%27, %28) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
        %30 = "arith.select"(%29, %27, %28) : (i1, i64, i64) -> i64
        %31 = "arith.trunci"(%30) : (i64) -> i32
        %behind = "arith.cmpi"(%8, %31) <{"predicate" = 5 : i64}> : (i32, i32) -> i1
        "weft.if"(%behind) ({
          %at = "llvm.getelementptr"(%x, %i) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
          %v = "llvm.load"(%at) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
          %sum = "arith.addi"(%i, %far) : (i64, i64) -> i64
          %own = "arith.cmpi"(%i, %v) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
          %wraps = "arith.cmpi"(%sum, %one) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
          %unsigned = "arith.cmpi"(%i, %far) <{"predicate" = 6 : i64}> : (i64, i64) -> i1
          %39 = "arith.constant"() <{"value" = 1 : i32}> : () -> i32
          %known = "arith.cmpi"(%8, %39) <{"predicate" = 0 : i64}> : (i32, i32) -> i1
        }, {
        ^bb0:
        }) : (i1) -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
    }) {"parallel" = true} : (i64, i64, i64) -> ()
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%j: i64):
      %other = "arith.cmpi"(%j, %far) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
