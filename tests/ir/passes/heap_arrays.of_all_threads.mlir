// What is kept for each thread of a block counts 1024 times: 2 KiB are too much for the stack then, 512 bytes not.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "large", "function_type" = (i64) -> ()}> ({
  ^bb0(%threads: i64):
    %array = "llvm.alloca"(%threads) {"elem_type" = f32, "count" = 512 : i64, "alignment" = 8 : i64} : (i64) -> !llvm.ptr
    "weft.return"() : () -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "small", "function_type" = (i64) -> ()}> ({
  ^bb0(%threads: i64):
    %array = "llvm.alloca"(%threads) {"elem_type" = f32, "count" = 128 : i64, "alignment" = 8 : i64} : (i64) -> !llvm.ptr
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "large", "function_type" = (i64) -> ()}> ({
  ^bb0(%threads: i64):
    %array = "weft.take_memory"(%threads) {"elem_type" = f32, "count" = 512 : i64, "alignment" = 8 : i64} : (i64) -> !llvm.ptr
    "weft.give_memory"(%array) : (!llvm.ptr) -> ()
    "weft.return"() : () -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "small", "function_type" = (i64) -> ()}> ({
  ^bb0(%threads: i64):
    %array = "llvm.alloca"(%threads) {"elem_type" = f32, "count" = 128 : i64, "alignment" = 8 : i64} : (i64) -> !llvm.ptr
    "weft.return"() : () -> ()
  }) {} : () -> ()
}) : () -> ()
