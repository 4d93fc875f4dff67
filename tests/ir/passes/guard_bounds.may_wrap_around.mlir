// An argument may be as far as 63 bits go, and the sum wrap around: the guard stays.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64, i64) -> ()}> ({
  ^bb0(%out: !llvm.ptr<1>, %n: i64, %start: i64):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %ty = "gpu.thread_id"() {"dimension" = "y"} : () -> i64
    %bx = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %dx = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %first = "arith.muli"(%bx, %dx) : (i64, i64) -> i64
    %i = "arith.addi"(%first, %tx) : (i64, i64) -> i64
    %far = "arith.addi"(%i, %start) : (i64, i64) -> i64
    %inside = "arith.cmpi"(%far, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
    "weft.if"(%inside) ({
      "llvm.store"(%out, %i) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }, {
    }) : (i1) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64, i64) -> ()}> ({
  ^bb0(%out: !llvm.ptr<1>, %n: i64, %start: i64):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %ty = "gpu.thread_id"() {"dimension" = "y"} : () -> i64
    %bx = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %dx = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %first = "arith.muli"(%bx, %dx) : (i64, i64) -> i64
    %i = "arith.addi"(%first, %tx) : (i64, i64) -> i64
    %far = "arith.addi"(%i, %start) : (i64, i64) -> i64
    %inside = "arith.cmpi"(%far, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
    "weft.if"(%inside) ({
      "llvm.store"(%out, %i) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }, {
    ^bb0:
    }) : (i1) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
