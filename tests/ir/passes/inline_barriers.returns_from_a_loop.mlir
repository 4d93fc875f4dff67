// A return from within a loop leaves it by a break; what follows the loop is skipped.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "helper", "function_type" = (i64, i1) -> ()}> ({
  ^bb0(%n: i64, %flag: i1):
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      "gpu.barrier"() : () -> ()
      "weft.if"(%flag) ({
        "weft.return"() : () -> ()
      }, {
      }) : (i1) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "gpu.barrier"() : () -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (i64, i1) -> ()}> ({
  ^bb0(%n: i64, %flag: i1):
    "func.call"(%n, %flag) <{"callee" = @helper}> : (i64, i1) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (i64, i1) -> ()}> ({
  ^bb0(%n: i64, %flag: i1):
    %2 = "weft.slot"() {"elem_type" = i1, "name" = "returned"} : () -> !llvm.ptr<5>
    %3 = "weft.slot"() {"elem_type" = i1, "name" = "returned"} : () -> !llvm.ptr<5>
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %6 = "arith.constant"() <{"value" = false}> : () -> i1
    "weft.set"(%2, %6) : (!llvm.ptr<5>, i1) -> ()
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      "gpu.barrier"() : () -> ()
      %8 = "arith.constant"() <{"value" = false}> : () -> i1
      "weft.set"(%3, %8) : (!llvm.ptr<5>, i1) -> ()
      "weft.if"(%flag) ({
        %9 = "arith.constant"() <{"value" = true}> : () -> i1
        "weft.set"(%2, %9) : (!llvm.ptr<5>, i1) -> ()
        %10 = "arith.constant"() <{"value" = true}> : () -> i1
        "weft.set"(%3, %10) : (!llvm.ptr<5>, i1) -> ()
        "weft.break"() : () -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %11 = "weft.get"(%2) : (!llvm.ptr<5>) -> i1
    "weft.if"(%11) ({
    ^bb0:
    }, {
      "gpu.barrier"() : () -> ()
    }) : (i1) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
