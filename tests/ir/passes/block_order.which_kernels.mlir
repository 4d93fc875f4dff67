// Blocks go along y where what they store lies near each other along it, and far apart along x.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "across", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %bx = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %by = "gpu.block_id"() {"dimension" = "y"} : () -> i64
    %t = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %size = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
    %zero = "arith.constant"() <{"value" = 0.0 : f32}> : () -> f32
    %far = "arith.muli"(%by, %n) : (i64, i64) -> i64
    %begin = "arith.muli"(%bx, %size) : (i64, i64) -> i64
    %near = "arith.addi"(%begin, %t) : (i64, i64) -> i64
    %i = "arith.addi"(%far, %near) : (i64, i64) -> i64
    %at = "llvm.getelementptr"(%x, %i) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%at, %zero) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
  "func.func"() <{"sym_name" = "down", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %bx = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %by = "gpu.block_id"() {"dimension" = "y"} : () -> i64
    %t = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %size = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
    %zero = "arith.constant"() <{"value" = 0.0 : f32}> : () -> f32
    %far = "arith.muli"(%bx, %n) : (i64, i64) -> i64
    %begin = "arith.muli"(%by, %size) : (i64, i64) -> i64
    %near = "arith.addi"(%begin, %t) : (i64, i64) -> i64
    %i = "arith.addi"(%far, %near) : (i64, i64) -> i64
    %at = "llvm.getelementptr"(%x, %i) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%at, %zero) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
  "func.func"() <{"sym_name" = "down_and_across", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %bx = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %by = "gpu.block_id"() {"dimension" = "y"} : () -> i64
    %t = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %size = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
    %zero = "arith.constant"() <{"value" = 0.0 : f32}> : () -> f32
    %far = "arith.muli"(%bx, %n) : (i64, i64) -> i64
    %begin = "arith.muli"(%by, %size) : (i64, i64) -> i64
    %near = "arith.addi"(%begin, %t) : (i64, i64) -> i64
    %i = "arith.addi"(%far, %near) : (i64, i64) -> i64
    %at = "llvm.getelementptr"(%x, %i) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%at, %zero) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    %also = "llvm.getelementptr"(%x, %bx) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%also, %zero) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
  "func.func"() <{"sym_name" = "down_and_atomics", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %bx = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %by = "gpu.block_id"() {"dimension" = "y"} : () -> i64
    %t = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %size = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
    %zero = "arith.constant"() <{"value" = 0.0 : f32}> : () -> f32
    %far = "arith.muli"(%bx, %n) : (i64, i64) -> i64
    %begin = "arith.muli"(%by, %size) : (i64, i64) -> i64
    %near = "arith.addi"(%begin, %t) : (i64, i64) -> i64
    %i = "arith.addi"(%far, %near) : (i64, i64) -> i64
    %at = "llvm.getelementptr"(%x, %i) {"elem_type" = f32} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%at, %zero) {"alignment" = 4 : i64, "volatile" = false} : (!llvm.ptr<1>, f32) -> ()
    %one = "arith.constant"() <{"value" = 1 : i32}> : () -> i32
    %old = "llvm.atomicrmw"(%x, %one) {"bin_op" = "add", "ordering" = "monotonic", "syncscope" = ""} : (!llvm.ptr<1>, i32) -> i32
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) {"weft.target" = "native"} : () -> ()
// After
// across: along x
// down: along y
// down_and_across: along x
// down_and_atomics: along x
