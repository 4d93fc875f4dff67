// Of which values the first threads of a block are certain to have different ones.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (i64) -> ()}> ({
  ^bb0(%n: i64):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %ty = "gpu.thread_id"() {"dimension" = "y"} : () -> i64
    %two = "arith.constant"() <{"value" = 2 : i64}> : () -> i64
    %forty = "arith.constant"() <{"value" = 40 : i64}> : () -> i64
    %odd = "arith.remsi"(%tx, %two) : (i64, i64) -> i64
    %moved = "arith.addi"(%tx, %n) : (i64, i64) -> i64
    %back = "arith.subi"(%moved, %tx) : (i64, i64) -> i64
    %below_two = "arith.cmpi"(%tx, %two) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
    %below_forty = "arith.cmpi"(%tx, %forty) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
    %below_n = "arith.cmpi"(%tx, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
    %is_n = "arith.cmpi"(%moved, %n) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
// unknown %n
// differs %tx
// unknown %ty
// unknown %two
// unknown %forty
// differs %odd
// differs %moved
// unknown %back
// differs %below_two
// unknown %below_forty
// unknown %below_n
// differs %is_n
