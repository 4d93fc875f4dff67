// The body of the loop over blocks becomes a function; memory of its own is alone.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k.loops", "function_type" = (!llvm.ptr<1>, i64, !llvm.ptr<1>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %y: !llvm.ptr<1>):
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %start = "weft.slot"() {"elem_type" = i64, "name" = "start"} : () -> !llvm.ptr<5>
    %count = "weft.slot"() {"elem_type" = i64, "name" = "count"} : () -> !llvm.ptr<5>
    %each = "llvm.alloca"(%n) {"elem_type" = i64, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    "weft.set"(%start, %n) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %now = "weft.get"(%start) : (!llvm.ptr<5>) -> i64
      %more = "arith.cmpi"(%now, %one) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
      "weft.condition"(%more) : (i1) -> ()
    }, {
      %block = "weft.get"(%start) : (!llvm.ptr<5>) -> i64
      %less = "arith.subi"(%block, %one) : (i64, i64) -> i64
      "weft.set"(%start, %less) : (!llvm.ptr<5>, i64) -> ()
      "weft.set"(%count, %one) : (!llvm.ptr<5>, i64) -> ()
      %none = "arith.cmpi"(%less, %n) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
      "weft.if"(%none) ({
        "weft.exit_block"() : () -> ()
      }, {
      }) : (i1) -> ()
      %many = "weft.get"(%count) : (!llvm.ptr<5>) -> i64
      "llvm.store"(%each, %many) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr, i64) -> ()
      "llvm.store"(%x, %block) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
      "llvm.store"(%y, %block) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }) {"blocks" = true} : () -> ()
    "weft.return"() : () -> ()
  }) {"weft.alone" = array<i64: 2>, "weft.inline"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k.loops.block", "function_type" = (i64, !llvm.ptr<1>, !llvm.ptr<1>, !llvm.ptr<5>, i64, !llvm.ptr, i64) -> ()}> ({
  ^bb0(%n: i64, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %start: !llvm.ptr<5>, %less: i64, %each: !llvm.ptr, %block: i64):
    %count = "weft.slot"() {"elem_type" = i64, "name" = "count"} : () -> !llvm.ptr<5>
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.set"(%start, %less) : (!llvm.ptr<5>, i64) -> ()
    "weft.set"(%count, %one) : (!llvm.ptr<5>, i64) -> ()
    %none = "arith.cmpi"(%less, %n) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
    "weft.if"(%none) ({
      "weft.return"() : () -> ()
    }, {
    ^bb0:
    }) : (i1) -> ()
    %many = "weft.get"(%count) : (!llvm.ptr<5>) -> i64
    "llvm.store"(%each, %many) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr, i64) -> ()
    "llvm.store"(%x, %block) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "llvm.store"(%y, %block) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"weft.alone" = array<i64: 2, 3, 5>} : () -> ()
  "func.func"() <{"sym_name" = "k.loops", "function_type" = (!llvm.ptr<1>, i64, !llvm.ptr<1>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %y: !llvm.ptr<1>):
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %start = "weft.slot"() {"elem_type" = i64, "name" = "start"} : () -> !llvm.ptr<5>
    %each = "llvm.alloca"(%n) {"elem_type" = i64, "count" = 1 : i64, "alignment" = 64 : i64} : (i64) -> !llvm.ptr
    "weft.set"(%start, %n) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %now = "weft.get"(%start) : (!llvm.ptr<5>) -> i64
      %more = "arith.cmpi"(%now, %one) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
      "weft.condition"(%more) : (i1) -> ()
    }, {
      %block = "weft.get"(%start) : (!llvm.ptr<5>) -> i64
      %less = "arith.subi"(%block, %one) : (i64, i64) -> i64
      "func.call"(%n, %x, %y, %start, %less, %each, %block) <{"callee" = @k.loops.block}> : (i64, !llvm.ptr<1>, !llvm.ptr<1>, !llvm.ptr<5>, i64, !llvm.ptr, i64) -> ()
    }) {"blocks" = true} : () -> ()
    "weft.return"() : () -> ()
  }) {"weft.alone" = array<i64: 2>, "weft.inline"} : () -> ()
}) : () -> ()
