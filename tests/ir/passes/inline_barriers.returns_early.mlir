// A helper that returns before its barrier, to a helper that hands the number on: a flag skips the barrier.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "inner", "function_type" = (i1, i64, i64) -> (i64)}> ({
  ^bb0(%flag: i1, %a: i64, %b: i64):
    "weft.if"(%flag) ({
      "weft.return"(%a) : (i64) -> ()
    }, {
    }) : (i1) -> ()
    "gpu.barrier"() : () -> ()
    "weft.return"(%b) : (i64) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "outer", "function_type" = (i1, i64, i64) -> (i64)}> ({
  ^bb0(%flag: i1, %a: i64, %b: i64):
    %found = "func.call"(%flag, %a, %b) <{"callee" = @inner}> : (i1, i64, i64) -> i64
    "weft.return"(%found) : (i64) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (i1, i64, i64, !llvm.ptr<1>) -> ()}> ({
  ^bb0(%flag: i1, %a: i64, %b: i64, %out: !llvm.ptr<1>):
    %found = "func.call"(%flag, %a, %b) <{"callee" = @outer}> : (i1, i64, i64) -> i64
    "llvm.store"(%out, %found) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (i1, i64, i64, !llvm.ptr<1>) -> ()}> ({
  ^bb0(%flag: i1, %a: i64, %b: i64, %out: !llvm.ptr<1>):
    %4 = "weft.slot"() {"elem_type" = i64, "name" = "found"} : () -> !llvm.ptr<5>
    %5 = "weft.slot"() {"elem_type" = i1, "name" = "returned"} : () -> !llvm.ptr<5>
    %6 = "arith.constant"() <{"value" = false}> : () -> i1
    "weft.set"(%5, %6) : (!llvm.ptr<5>, i1) -> ()
    "weft.if"(%flag) ({
      "weft.set"(%4, %a) : (!llvm.ptr<5>, i64) -> ()
      %7 = "arith.constant"() <{"value" = true}> : () -> i1
      "weft.set"(%5, %7) : (!llvm.ptr<5>, i1) -> ()
    }, {
    ^bb0:
    }) : (i1) -> ()
    %8 = "weft.get"(%5) : (!llvm.ptr<5>) -> i1
    "weft.if"(%8) ({
    ^bb0:
    }, {
      "gpu.barrier"() : () -> ()
      "weft.set"(%4, %b) : (!llvm.ptr<5>, i64) -> ()
    }) : (i1) -> ()
    %9 = "weft.get"(%4) : (!llvm.ptr<5>) -> i64
    "llvm.store"(%out, %9) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
