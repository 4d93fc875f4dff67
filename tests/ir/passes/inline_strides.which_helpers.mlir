// Put into a kernel are a helper that computes a place, and one whose loop begins at one; not the last.
"builtin.module"() <{"sym_name" = "k"}> ({
  "func.func"() <{"sym_name" = "place", "function_type" = () -> (i64)}> ({
  ^bb0:
    %0 = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %1 = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %2 = "arith.muli"(%0, %1) : (i64, i64) -> i64
    %3 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %4 = "arith.addi"(%2, %3) : (i64, i64) -> i64
    "weft.return"(%4) : (i64) -> ()
  }) {"weft.inline"} : () -> ()
  "func.func"() <{"sym_name" = "strided", "function_type" = (!llvm.ptr<1>, i64, i64) -> (i64)}> ({
  ^bb0(%a: !llvm.ptr<1>, %first: i64, %n: i64):
    %3 = "weft.slot"() {"elem_type" = i64, "name" = "total"} : () -> !llvm.ptr<5>
    %4 = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %5 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    "weft.set"(%3, %5) : (!llvm.ptr<5>, i64) -> ()
    "weft.for"(%first, %n, %4) ({
    ^bb0(%i: i64):
      %7 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
      %8 = "llvm.getelementptr"(%a, %i) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %9 = "llvm.load"(%8) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
      %10 = "arith.addi"(%7, %9) : (i64, i64) -> i64
      "weft.set"(%3, %10) : (!llvm.ptr<5>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %11 = "weft.get"(%3) : (!llvm.ptr<5>) -> i64
    "weft.return"(%11) : (i64) -> ()
  }) {"weft.inline"} : () -> ()
  "func.func"() <{"sym_name" = "in_order", "function_type" = (!llvm.ptr<1>, i64) -> (i64)}> ({
  ^bb0(%a: !llvm.ptr<1>, %n: i64):
    %2 = "weft.slot"() {"elem_type" = i64, "name" = "total"} : () -> !llvm.ptr<5>
    %3 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    "weft.set"(%2, %3) : (!llvm.ptr<5>, i64) -> ()
    %4 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %5 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%4, %n, %5) ({
    ^bb0(%i: i64):
      %7 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
      %8 = "llvm.getelementptr"(%a, %i) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %9 = "llvm.load"(%8) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
      %10 = "arith.addi"(%7, %9) : (i64, i64) -> i64
      "weft.set"(%2, %10) : (!llvm.ptr<5>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %11 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
    "weft.return"(%11) : (i64) -> ()
  }) {"weft.inline"} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%a: !llvm.ptr<1>, %n: i64):
    %2 = "func.call"() <{"callee" = @place}> : () -> i64
    %3 = "func.call"(%a, %2, %n) <{"callee" = @strided}> : (!llvm.ptr<1>, i64, i64) -> i64
    %4 = "func.call"(%a, %n) <{"callee" = @in_order}> : (!llvm.ptr<1>, i64) -> i64
    %5 = "arith.addi"(%3, %4) : (i64, i64) -> i64
    %6 = "llvm.getelementptr"(%a, %2) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%6, %5) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.block_rank" = 1 : i64, "weft.alone" = array<i64: 0, 1>} : () -> ()
}) {"weft.target" = "native"} : () -> ()
// After
"builtin.module"() <{"sym_name" = "k"}> ({
  "func.func"() <{"sym_name" = "in_order", "function_type" = (!llvm.ptr<1>, i64) -> (i64)}> ({
  ^bb0(%a: !llvm.ptr<1>, %n: i64):
    %2 = "weft.slot"() {"elem_type" = i64, "name" = "total"} : () -> !llvm.ptr<5>
    %3 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    "weft.set"(%2, %3) : (!llvm.ptr<5>, i64) -> ()
    %4 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %5 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    "weft.for"(%4, %n, %5) ({
    ^bb0(%i: i64):
      %7 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
      %8 = "llvm.getelementptr"(%a, %i) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %9 = "llvm.load"(%8) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
      %10 = "arith.addi"(%7, %9) : (i64, i64) -> i64
      "weft.set"(%2, %10) : (!llvm.ptr<5>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %11 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
    "weft.return"(%11) : (i64) -> ()
  }) {"weft.inline"} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%a: !llvm.ptr<1>, %n: i64):
    %2 = "weft.slot"() {"elem_type" = i64, "name" = "total"} : () -> !llvm.ptr<5>
    %3 = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %4 = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %5 = "arith.muli"(%3, %4) : (i64, i64) -> i64
    %6 = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %7 = "arith.addi"(%5, %6) : (i64, i64) -> i64
    %8 = "gpu.block_dim"() {"dimension" = "x"} : () -> i64
    %9 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    "weft.set"(%2, %9) : (!llvm.ptr<5>, i64) -> ()
    "weft.for"(%7, %n, %8) ({
    ^bb0(%i: i64):
      %11 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
      %12 = "llvm.getelementptr"(%a, %i) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
      %13 = "llvm.load"(%12) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
      %14 = "arith.addi"(%11, %13) : (i64, i64) -> i64
      "weft.set"(%2, %14) : (!llvm.ptr<5>, i64) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %15 = "weft.get"(%2) : (!llvm.ptr<5>) -> i64
    %16 = "func.call"(%a, %n) <{"callee" = @in_order}> : (!llvm.ptr<1>, i64) -> i64
    %17 = "arith.addi"(%15, %16) : (i64, i64) -> i64
    %18 = "llvm.getelementptr"(%a, %7) {"elem_type" = i64} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
    "llvm.store"(%18, %17) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.block_rank" = 1 : i64, "weft.alone" = array<i64: 0, 1>} : () -> ()
}) {"weft.target" = "native"} : () -> ()
