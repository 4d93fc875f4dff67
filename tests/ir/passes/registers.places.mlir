// Arrays become variables where each access is at a place that is known, of one type there; others stay.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %three = "arith.constant"() <{"value" = 3 : i64}> : () -> i64
    %number = "arith.constant"() <{"value" = 7 : i32}> : () -> i32
    %known = "llvm.alloca"() {"elem_type" = i32, "count" = 4 : i64, "alignment" = 4 : i64} : () -> !llvm.ptr<5>
    %anywhere = "llvm.alloca"() {"elem_type" = i32, "count" = 4 : i64, "alignment" = 4 : i64} : () -> !llvm.ptr<5>
    %across = "llvm.alloca"() {"elem_type" = i32, "count" = 4 : i64, "alignment" = 4 : i64} : () -> !llvm.ptr<5>
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      %last = "llvm.getelementptr"(%known, %three) {"elem_type" = i32} : (!llvm.ptr<5>, i64) -> !llvm.ptr<5>
      "llvm.store"(%last, %number) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<5>, i32) -> ()
      %first = "llvm.load"(%known) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<5>) -> i32
      %there = "llvm.getelementptr"(%anywhere, %i) {"elem_type" = i32} : (!llvm.ptr<5>, i64) -> !llvm.ptr<5>
      "llvm.store"(%there, %first) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<5>, i32) -> ()
      %both = "llvm.load"(%across) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<5>) -> i64
      %second = "llvm.getelementptr"(%across, %one) {"elem_type" = i32} : (!llvm.ptr<5>, i64) -> !llvm.ptr<5>
      "llvm.store"(%second, %first) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<5>, i32) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %three = "arith.constant"() <{"value" = 3 : i64}> : () -> i64
    %number = "arith.constant"() <{"value" = 7 : i32}> : () -> i32
    %6 = "weft.slot"() {"elem_type" = i32, "name" = "element"} : () -> !llvm.ptr<5>
    %7 = "weft.slot"() {"elem_type" = i32, "name" = "element"} : () -> !llvm.ptr<5>
    %anywhere = "llvm.alloca"() {"elem_type" = i32, "count" = 4 : i64, "alignment" = 4 : i64} : () -> !llvm.ptr<5>
    %across = "llvm.alloca"() {"elem_type" = i32, "count" = 4 : i64, "alignment" = 4 : i64} : () -> !llvm.ptr<5>
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      "weft.set"(%6, %number) : (!llvm.ptr<5>, i32) -> ()
      %first = "weft.get"(%7) : (!llvm.ptr<5>) -> i32
      %there = "llvm.getelementptr"(%anywhere, %i) {"elem_type" = i32} : (!llvm.ptr<5>, i64) -> !llvm.ptr<5>
      "llvm.store"(%there, %first) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<5>, i32) -> ()
      %both = "llvm.load"(%across) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<5>) -> i64
      %second = "llvm.getelementptr"(%across, %one) {"elem_type" = i32} : (!llvm.ptr<5>, i64) -> !llvm.ptr<5>
      "llvm.store"(%second, %first) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<5>, i32) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
