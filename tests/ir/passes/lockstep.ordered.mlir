// What others may wait for keeps its place: an element with an atomic operation stays a call.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "element", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %i: i64):
    %before = "llvm.atomicrmw"(%x, %i) {"bin_op" = "add", "ordering" = "monotonic", "syncscope" = ""} : (!llvm.ptr<1>, i64) -> i64
    "weft.return"() : () -> ()
  }) {"weft.element"} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %i: i64):
    "func.call"(%x, %i) <{"callee" = @element}> : (!llvm.ptr<1>, i64) -> ()
    "func.call"(%x, %i) <{"callee" = @element}> : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.over_rank" = 1 : i64} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "element", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %i: i64):
    %before = "llvm.atomicrmw"(%x, %i) {"bin_op" = "add", "ordering" = "monotonic", "syncscope" = ""} : (!llvm.ptr<1>, i64) -> i64
    "weft.return"() : () -> ()
  }) {"weft.element"} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %i: i64):
    "func.call"(%x, %i) <{"callee" = @element}> : (!llvm.ptr<1>, i64) -> ()
    "func.call"(%x, %i) <{"callee" = @element}> : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.over_rank" = 1 : i64} : () -> ()
}) : () -> ()
