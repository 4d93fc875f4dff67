// No barriers: one nest of loops over the rows of all blocks at hand, which ends where the guard says.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i64) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    %inside = "arith.cmpi"(%tx, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
    "weft.if"(%inside) ({
      "llvm.store"(%x, %tx) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
    }, {
    }) : (i1) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.alone" = array<i64: 0>} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k.loops", "function_type" = (!llvm.ptr<1>, i64, !llvm.ptr) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %n: i64, %launch: !llvm.ptr):
    %3 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %4 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %5 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %6 = "llvm.getelementptr"(%launch, %5) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %7 = "llvm.load"(%6) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %8 = "arith.extui"(%7) : (i32) -> i64
    %9 = "arith.constant"() <{"value" = 4 : i64}> : () -> i64
    %10 = "llvm.getelementptr"(%launch, %9) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %11 = "llvm.load"(%10) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %12 = "arith.extui"(%11) : (i32) -> i64
    %13 = "arith.constant"() <{"value" = 8 : i64}> : () -> i64
    %14 = "llvm.getelementptr"(%launch, %13) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %15 = "llvm.load"(%14) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %16 = "arith.extui"(%15) : (i32) -> i64
    %17 = "arith.constant"() <{"value" = 12 : i64}> : () -> i64
    %18 = "llvm.getelementptr"(%launch, %17) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %19 = "llvm.load"(%18) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %20 = "arith.extui"(%19) : (i32) -> i64
    %21 = "arith.constant"() <{"value" = 16 : i64}> : () -> i64
    %22 = "llvm.getelementptr"(%launch, %21) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %23 = "llvm.load"(%22) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %24 = "arith.extui"(%23) : (i32) -> i64
    %25 = "arith.constant"() <{"value" = 20 : i64}> : () -> i64
    %26 = "llvm.getelementptr"(%launch, %25) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %27 = "llvm.load"(%26) {"alignment" = 4 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i32
    %28 = "arith.extui"(%27) : (i32) -> i64
    %29 = "arith.constant"() <{"value" = 32 : i64}> : () -> i64
    %30 = "llvm.getelementptr"(%launch, %29) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %31 = "llvm.load"(%30) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %32 = "arith.constant"() <{"value" = 40 : i64}> : () -> i64
    %33 = "llvm.getelementptr"(%launch, %32) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %34 = "llvm.load"(%33) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %35 = "arith.constant"() <{"value" = 48 : i64}> : () -> i64
    %36 = "llvm.getelementptr"(%launch, %35) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %37 = "llvm.load"(%36) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %38 = "arith.constant"() <{"value" = 56 : i64}> : () -> i64
    %39 = "llvm.getelementptr"(%launch, %38) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
    %40 = "llvm.load"(%39) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    %41 = "arith.constant"() <{"value" = 128 : i64}> : () -> i64
    %42 = "arith.addi"(%40, %41) : (i64, i64) -> i64
    %43 = "llvm.alloca"(%42) {"elem_type" = i8, "count" = 0 : i64, "alignment" = 128 : i64} : (i64) -> !llvm.ptr<3>
    %44 = "weft.slot"() {"elem_type" = i64, "name" = "start"} : () -> !llvm.ptr<5>
    %45 = "weft.slot"() {"elem_type" = i64, "name" = "end"} : () -> !llvm.ptr<5>
    "weft.set"(%44, %3) : (!llvm.ptr<5>, i64) -> ()
    "weft.set"(%45, %3) : (!llvm.ptr<5>, i64) -> ()
    "weft.while"() ({
      %46 = "weft.get"(%44) : (!llvm.ptr<5>) -> i64
      %47 = "weft.get"(%45) : (!llvm.ptr<5>) -> i64
      %48 = "arith.cmpi"(%46, %47) <{"predicate" = 5 : i64}> : (i64, i64) -> i1
      "weft.if"(%48) ({
        %49 = "arith.constant"() <{"value" = 24 : i64}> : () -> i64
        %50 = "llvm.getelementptr"(%launch, %49) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
        %51 = "llvm.atomicrmw"(%50, %34) {"bin_op" = "add", "ordering" = "monotonic", "syncscope" = ""} : (!llvm.ptr, i64) -> i64
        "weft.set"(%44, %51) : (!llvm.ptr<5>, i64) -> ()
        %52 = "arith.addi"(%51, %34) : (i64, i64) -> i64
        %53 = "arith.cmpi"(%52, %31) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
        %54 = "arith.select"(%53, %52, %31) : (i1, i64, i64) -> i64
        "weft.set"(%45, %54) : (!llvm.ptr<5>, i64) -> ()
      }, {
      ^bb0:
      }) : (i1) -> ()
      %55 = "weft.get"(%44) : (!llvm.ptr<5>) -> i64
      %56 = "arith.cmpi"(%55, %31) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      "weft.condition"(%56) : (i1) -> ()
    }, {
      %57 = "weft.get"(%44) : (!llvm.ptr<5>) -> i64
      %58 = "arith.remui"(%57, %8) : (i64, i64) -> i64
      %59 = "arith.divui"(%57, %8) : (i64, i64) -> i64
      %60 = "arith.remui"(%59, %12) : (i64, i64) -> i64
      %61 = "arith.divui"(%59, %12) : (i64, i64) -> i64
      %62 = "arith.subi"(%8, %58) : (i64, i64) -> i64
      %63 = "arith.constant"() <{"value" = 1048576 : i64}> : () -> i64
      %64 = "weft.get"(%45) : (!llvm.ptr<5>) -> i64
      %65 = "arith.subi"(%64, %57) : (i64, i64) -> i64
      %66 = "arith.cmpi"(%65, %62) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      %67 = "arith.select"(%66, %65, %62) : (i1, i64, i64) -> i64
      %68 = "arith.cmpi"(%67, %63) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      %69 = "arith.select"(%68, %67, %63) : (i1, i64, i64) -> i64
      %70 = "arith.addi"(%57, %69) : (i64, i64) -> i64
      "weft.set"(%44, %70) : (!llvm.ptr<5>, i64) -> ()
      %71 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
      %72 = "arith.addi"(%58, %69) : (i64, i64) -> i64
      %73 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%71, %28, %73) ({
      ^bb0(%thread_z: i64):
        "weft.for"(%71, %24, %73) ({
        ^bb0(%thread_y: i64):
          "weft.for"(%58, %72, %73) ({
          ^bb0(%block_x: i64):
            %77 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
            %78 = "arith.cmpi"(%n, %77) <{"predicate" = 4 : i64}> : (i64, i64) -> i1
            %79 = "arith.select"(%78, %n, %77) : (i1, i64, i64) -> i64
            %80 = "arith.constant"() <{"value" = 1025 : i64}> : () -> i64
            %81 = "arith.cmpi"(%79, %80) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
            %82 = "arith.select"(%81, %79, %80) : (i1, i64, i64) -> i64
            %83 = "arith.cmpi"(%82, %20) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
            %84 = "arith.select"(%83, %82, %20) : (i1, i64, i64) -> i64
            %85 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
            "weft.for"(%71, %84, %85) ({
            ^bb0(%thread_x: i64):
              %87 = "arith.cmpi"(%thread_x, %n) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
              "llvm.store"(%x, %thread_x) {"alignment" = 8 : i64, "volatile" = false} : (!llvm.ptr<1>, i64) -> ()
              "weft.exit_thread"() : () -> ()
            }) {"parallel" = true} : (i64, i64, i64) -> ()
          }) {"parallel" = false} : (i64, i64, i64) -> ()
        }) {"parallel" = false} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"blocks" = true} : () -> ()
    "weft.return"() : () -> ()
  }) {"weft.alone" = array<i64: 0>, "weft.inline"} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr, !llvm.ptr) -> ()}> ({
  ^bb0(%args: !llvm.ptr, %launch: !llvm.ptr):
    %2 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %3 = "llvm.getelementptr"(%args, %2) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
    %4 = "llvm.load"(%3) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> !llvm.ptr<1>
    %5 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %6 = "llvm.getelementptr"(%args, %5) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
    %7 = "llvm.load"(%6) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
    "func.call"(%4, %7, %launch) <{"callee" = @k.loops}> : (!llvm.ptr<1>, i64, !llvm.ptr) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
