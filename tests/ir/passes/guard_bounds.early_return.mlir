// Threads from the n-th on return at once.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%out: !llvm.ptr<1>, %n: i64):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %ty = "gpu.thread_id"() {"dimension" = "y"} : () -> i64
    %bx = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %dx = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %first = "arith.muli"(%bx, %dx) : (i64, i64) -> i64
    %i = "arith.addi"(%first, %tx) : (i64, i64) -> i64
    %outside = "arith.cmpi"(%i, %n) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
    "weft.if"(%outside) ({
      "weft.return"() : () -> ()
    }, {
    }) : (i1) -> ()
    "llvm.store"(%out, %i) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
// thread x + %first < %n, which is from 0 to 2199023255552
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%out: !llvm.ptr<1>, %n: i64):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %ty = "gpu.thread_id"() {"dimension" = "y"} : () -> i64
    %bx = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %dx = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %first = "arith.muli"(%bx, %dx) : (i64, i64) -> i64
    %i = "arith.addi"(%first, %tx) : (i64, i64) -> i64
    %outside = "arith.cmpi"(%i, %n) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
    "llvm.store"(%out, %i) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
