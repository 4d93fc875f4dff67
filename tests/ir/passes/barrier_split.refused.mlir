// The first thread is certain to come to the barrier, and the others not to.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = () -> ()}> ({
  ^bb0:
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %is_first = "arith.cmpi"(%tx, %zero) <{"predicate" = 0 : i64}> : (i64, i64) -> i1
    "weft.if"(%is_first) ({
      "gpu.barrier"() : () -> () loc("k.py":4:9)
    }, {
    }) : (i1) -> () loc("k.py":3:5)
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> () loc("k.py":1:1)
}) : () -> ()
// After
// error[barrier-diverged]: not all threads of a block come to this barrier
//  --> k.py:4:9
//   = line 3: threads of a block part here
//   = note: all threads of a block come to a barrier, or none; those that have returned are not waited for
//   = help: move the barrier out, or decide by something that all threads of the block share
