// Ids, shared memory and prints of a helper come from further parameters of the copy that a kernel has of it.
"builtin.module"() <{"sym_name" = "m"}> ({
  "weft.global"() {"sym_name" = "tile", "kind" = "uninitialized", "space" = 3 : i64, "elem_type" = f32, "count" = 33 : i64, "alignment" = 4 : i64} : () -> ()
  "func.func"() <{"sym_name" = "plain", "function_type" = (i64) -> (i64)}> ({
  ^bb0(%x: i64):
    "weft.return"(%x) : (i64) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "inner", "function_type" = () -> (i64)}> ({
  ^bb0:
    %ty = "gpu.thread_id"() {"dimension" = "y"} : () -> i64
    %tile = "llvm.mlir.addressof"() {"global_name" = @tile} : () -> !llvm.ptr<3>
    %rest = "gpu.dynamic_shared_memory"() : () -> !llvm.ptr<3>
    "weft.print"(%ty, %tile, %rest) {"site" = 0 : i64} : (i64, !llvm.ptr<3>, !llvm.ptr<3>) -> ()
    "weft.return"(%ty) : (i64) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "outer", "function_type" = () -> (i64)}> ({
  ^bb0:
    %y = "func.call"() <{"callee" = @inner}> : () -> i64
    %z = "func.call"(%y) <{"callee" = @plain}> : (i64) -> i64
    "weft.return"(%z) : (i64) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = () -> ()}> ({
  ^bb0:
    %w = "func.call"() <{"callee" = @outer}> : () -> i64
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "weft.global"() {"sym_name" = "tile", "kind" = "uninitialized", "space" = 3 : i64, "elem_type" = f32, "count" = 33 : i64, "alignment" = 4 : i64} : () -> ()
  "func.func"() <{"sym_name" = "plain", "function_type" = (i64) -> (i64)}> ({
  ^bb0(%x: i64):
    "weft.return"(%x) : (i64) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "inner.k", "function_type" = (i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> (i64)}> ({
  ^bb0(%context0: i64, %context1: i64, %context2: i64, %context3: i64, %context4: i64, %context5: i64, %context6: i64, %context7: i64, %context8: i64, %context9: i64, %context10: i64, %context11: i64, %context12: i64, %context13: i64, %context14: i64, %context15: i64, %context16: i64, %shared: !llvm.ptr<3>):
    %18 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %19 = "llvm.getelementptr"(%shared, %18) {"elem_type" = i8} : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>
    %20 = "arith.constant"() <{"value" = 256 : i64}> : () -> i64
    %21 = "llvm.getelementptr"(%shared, %20) {"elem_type" = i8} : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>
    "weft.host_tell"(%context0, %context5, %19, %21) {"site" = 0 : i64} : (i64, i64, !llvm.ptr<3>, !llvm.ptr<3>) -> ()
    "weft.return"(%context5) : (i64) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "outer.k", "function_type" = (i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> (i64)}> ({
  ^bb0(%context0: i64, %context1: i64, %context2: i64, %context3: i64, %context4: i64, %context5: i64, %context6: i64, %context7: i64, %context8: i64, %context9: i64, %context10: i64, %context11: i64, %context12: i64, %context13: i64, %context14: i64, %context15: i64, %context16: i64, %shared: !llvm.ptr<3>):
    %18 = "func.call"(%context0, %context1, %context2, %context3, %context4, %context5, %context6, %context7, %context8, %context9, %context10, %context11, %context12, %context13, %context14, %context15, %context16, %shared) <{"callee" = @inner.k}> : (i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr<3>) -> i64
    %19 = "func.call"(%18) <{"callee" = @plain}> : (i64) -> i64
    "weft.return"(%19) : (i64) -> ()
  }) {} : () -> ()
}) : () -> ()
