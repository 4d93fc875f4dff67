// Which values all threads of a block share.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "twice", "function_type" = (i64) -> (i64)}> ({
  ^bb0(%x: i64):
    %sum = "arith.addi"(%x, %x) : (i64, i64) -> i64
    "weft.return"(%sum) : (i64) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "count", "function_type" = (!llvm.ptr<1>) -> (i64)}> ({
  ^bb0(%place: !llvm.ptr<1>):
    %now = "llvm.load"(%place) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
    "weft.return"(%now) : (i64) -> ()
  }) {} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%data: !llvm.ptr<1>, %n: i64):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %bx = "gpu.block_id"() {"dimension" = "x"} : () -> i64
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %shared_sum = "arith.addi"(%bx, %n) : (i64, i64) -> i64
    %own_sum = "arith.addi"(%tx, %n) : (i64, i64) -> i64
    %shared_call = "func.call"(%n) <{"callee" = @twice}> : (i64) -> i64
    %own_call = "func.call"(%tx) <{"callee" = @twice}> : (i64) -> i64
    %next_ticket = "func.call"(%data) <{"callee" = @count}> : (!llvm.ptr<1>) -> i64
    %alike_ticket = "func.call"(%data) <{"callee" = @count}> {"alike" = true} : (!llvm.ptr<1>) -> i64
    %constant_data = "llvm.load"(%data) {"alignment" = 8 : i64, "invariant" = true, "volatile" = false} : (!llvm.ptr<1>) -> i64
    %changing_data = "llvm.load"(%data) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr<1>) -> i64
    %counter = "weft.slot"() {"elem_type" = i64, "name" = "counter"} : () -> !llvm.ptr<5>
    %hidden = "weft.slot"() {"elem_type" = i64, "name" = "hidden"} : () -> !llvm.ptr<5>
    "weft.set"(%counter, %zero) : (!llvm.ptr<5>, i64) -> ()
    "weft.set"(%hidden, %zero) : (!llvm.ptr<5>, i64) -> ()
    %few = "arith.cmpi"(%tx, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
    "weft.for"(%zero, %n, %one) ({
    ^bb0(%i: i64):
      "weft.set"(%counter, %i) : (!llvm.ptr<5>, i64) -> ()
      "weft.if"(%few) ({
        "weft.set"(%hidden, %one) : (!llvm.ptr<5>, i64) -> ()
      }, {
      }) : (i1) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.for"(%zero, %tx, %one) ({
    ^bb0(%j: i64):
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    %counted = "weft.get"(%counter) : (!llvm.ptr<5>) -> i64
    %given_by_some = "weft.get"(%hidden) : (!llvm.ptr<5>) -> i64
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
// shared %data
// shared %n
// own    %tx
// shared %bx
// shared %zero
// shared %one
// shared %shared_sum
// own    %own_sum
// shared %shared_call
// own    %own_call
// own    %next_ticket
// shared %alike_ticket
// shared %constant_data
// own    %changing_data
// own    %counter
// own    %hidden
// own    %few
// shared %i
// shared %j
// shared %counted
// own    %given_by_some
