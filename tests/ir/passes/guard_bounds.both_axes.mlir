// A guard of two axes around the whole body is what the loops over threads end by.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64, i64) -> ()}> ({
  ^bb0(%out: !llvm.ptr<1>, %n: i64, %m: i64):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %ty = "gpu.thread_id"() {"dimension" = "y"} : () -> i64
    %bx = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %dx = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %first = "arith.muli"(%bx, %dx) : (i64, i64) -> i64
    %i = "arith.addi"(%first, %tx) : (i64, i64) -> i64
    %in_row = "arith.cmpi"(%i, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
    %in_column = "arith.cmpi"(%m, %ty) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
    %inside = "arith.andi"(%in_row, %in_column) : (i1, i1) -> i1
    "weft.if"(%inside) ({
      "llvm.store"(%out, %i) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }, {
    }) : (i1) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
// thread x + %first < %n, which is from 0 to 2199023255552
// thread y <= %m, which is from 0 to 1024
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64, i64) -> ()}> ({
  ^bb0(%out: !llvm.ptr<1>, %n: i64, %m: i64):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %ty = "gpu.thread_id"() {"dimension" = "y"} : () -> i64
    %bx = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %dx = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %first = "arith.muli"(%bx, %dx) : (i64, i64) -> i64
    %i = "arith.addi"(%first, %tx) : (i64, i64) -> i64
    %in_row = "arith.cmpi"(%i, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
    %in_column = "arith.cmpi"(%m, %ty) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
    %inside = "arith.andi"(%in_row, %in_column) : (i1, i1) -> i1
    "llvm.store"(%out, %i) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
