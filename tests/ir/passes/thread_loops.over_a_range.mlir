// A launch over a range: the loops end at its extents.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>, i1) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %flag: i1):
    %tx = "gpu.thread_id"() {"dimension" = "x"} : () -> i64
    "weft.assert"(%flag, %tx) {"site" = 0 : i64} : (i1, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel", "weft.over_rank" = 2 : i64} : () -> ()
}) : () -> ()
// After
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k.loops", "function_type" = (!llvm.ptr<1>, i1, !llvm.ptr) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>, %flag: i1, %launch: !llvm.ptr):
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
      %72 = "arith.muli"(%60, %24) : (i64, i64) -> i64
      %73 = "arith.constant"() <{"value" = 72 : i64}> : () -> i64
      %74 = "llvm.getelementptr"(%launch, %73) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
      %75 = "llvm.load"(%74) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
      %76 = "arith.subi"(%75, %72) : (i64, i64) -> i64
      %77 = "arith.cmpi"(%76, %24) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
      %78 = "arith.select"(%77, %76, %24) : (i1, i64, i64) -> i64
      %79 = "arith.addi"(%58, %69) : (i64, i64) -> i64
      %80 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
      "weft.for"(%71, %28, %80) ({
      ^bb0(%thread_z: i64):
        "weft.for"(%71, %78, %80) ({
        ^bb0(%thread_y: i64):
          "weft.for"(%58, %79, %80) ({
          ^bb0(%block_x: i64):
            %84 = "arith.muli"(%block_x, %20) : (i64, i64) -> i64
            %85 = "arith.constant"() <{"value" = 64 : i64}> : () -> i64
            %86 = "llvm.getelementptr"(%launch, %85) {"elem_type" = i8} : (!llvm.ptr, i64) -> !llvm.ptr
            %87 = "llvm.load"(%86) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i64
            %88 = "arith.subi"(%87, %84) : (i64, i64) -> i64
            %89 = "arith.cmpi"(%88, %20) <{"predicate" = 2 : i64}> : (i64, i64) -> i1
            %90 = "arith.select"(%89, %88, %20) : (i1, i64, i64) -> i64
            %91 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
            "weft.for"(%71, %90, %91) ({
            ^bb0(%thread_x: i64):
              "weft.assert"(%flag, %thread_x) {"site" = 0 : i64} : (i1, i64) -> ()
              "weft.exit_thread"() : () -> ()
            }) {"parallel" = true} : (i64, i64, i64) -> ()
          }) {"parallel" = false} : (i64, i64, i64) -> ()
        }) {"parallel" = false} : (i64, i64, i64) -> ()
      }) {"parallel" = false} : (i64, i64, i64) -> ()
    }) {"blocks" = true} : () -> ()
    "weft.return"() : () -> ()
  }) {"weft.inline"} : () -> ()
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr, !llvm.ptr) -> ()}> ({
  ^bb0(%args: !llvm.ptr, %launch: !llvm.ptr):
    %2 = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %3 = "llvm.getelementptr"(%args, %2) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
    %4 = "llvm.load"(%3) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> !llvm.ptr<1>
    %5 = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %6 = "llvm.getelementptr"(%args, %5) {"elem_type" = i64} : (!llvm.ptr, i64) -> !llvm.ptr
    %7 = "llvm.load"(%6) {"alignment" = 8 : i64, "invariant" = false, "volatile" = false} : (!llvm.ptr) -> i8
    %8 = "arith.constant"() <{"value" = 0 : i8}> : () -> i8
    %9 = "arith.cmpi"(%7, %8) <{"predicate" = 1 : i64}> : (i8, i8) -> i1
    "func.call"(%4, %9, %launch) <{"callee" = @k.loops}> : (!llvm.ptr<1>, i1, !llvm.ptr) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
