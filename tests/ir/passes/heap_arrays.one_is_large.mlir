// The larger array comes from the heap and is given back at each return; the smaller stays on the stack.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (i1) -> ()}> ({
  ^bb0(%flag: i1):
    %small = "llvm.alloca"() {"elem_type" = f32, "count" = 16 : i64, "alignment" = 4 : i64} : () -> !llvm.ptr
    %large = "llvm.alloca"() {"elem_type" = f32, "count" = 100000 : i64, "alignment" = 4 : i64} : () -> !llvm.ptr
    "weft.if"(%flag) ({
      "weft.return"() : () -> ()
    }, {
    }) : (i1) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (i1) -> ()}> ({
  ^bb0(%flag: i1):
    %small = "llvm.alloca"() {"elem_type" = f32, "count" = 16 : i64, "alignment" = 4 : i64} : () -> !llvm.ptr
    %large = "weft.take_memory"() {"elem_type" = f32, "count" = 100000 : i64, "alignment" = 4 : i64} : () -> !llvm.ptr
    "weft.if"(%flag) ({
      "weft.give_memory"(%large) : (!llvm.ptr) -> ()
      "weft.return"() : () -> ()
    }, {
    ^bb0:
    }) : (i1) -> ()
    "weft.give_memory"(%large) : (!llvm.ptr) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
