// A loop of few rounds that do much is not written out, so the threads make its rounds together.
"builtin.module"() <{"sym_name" = "m"}> ({
  "func.func"() <{"sym_name" = "k", "function_type" = (!llvm.ptr<1>) -> ()}> ({
  ^bb0(%x: !llvm.ptr<1>):
    %zero = "arith.constant"() <{"value" = 0 : i64}> : () -> i64
    %one = "arith.constant"() <{"value" = 1 : i64}> : () -> i64
    %few = "arith.constant"() <{"value" = 15 : i64}> : () -> i64
    %sum = "weft.slot"() {"elem_type" = f32, "name" = "sum"} : () -> !llvm.ptr<5>
    %start = "arith.constant"() <{"value" = 0.0 : f32}> : () -> f32
    "weft.set"(%sum, %start) : (!llvm.ptr<5>, f32) -> ()
    "gpu.barrier"() : () -> ()
    "weft.for"(%zero, %few, %one) ({
    ^bb0(%little: i64):
      %little0 = "weft.get"(%sum) : (!llvm.ptr<5>) -> f32
      %little1 = "arith.addf"(%little0, %little0) : (f32, f32) -> f32
      %little2 = "arith.addf"(%little1, %little1) : (f32, f32) -> f32
      %little3 = "arith.addf"(%little2, %little2) : (f32, f32) -> f32
      %little4 = "arith.addf"(%little3, %little3) : (f32, f32) -> f32
      %little5 = "arith.addf"(%little4, %little4) : (f32, f32) -> f32
      %little6 = "arith.addf"(%little5, %little5) : (f32, f32) -> f32
      %little7 = "arith.addf"(%little6, %little6) : (f32, f32) -> f32
      %little8 = "arith.addf"(%little7, %little7) : (f32, f32) -> f32
      %little9 = "arith.addf"(%little8, %little8) : (f32, f32) -> f32
      %little10 = "arith.addf"(%little9, %little9) : (f32, f32) -> f32
      %little11 = "arith.addf"(%little10, %little10) : (f32, f32) -> f32
      %little12 = "arith.addf"(%little11, %little11) : (f32, f32) -> f32
      %little13 = "arith.addf"(%little12, %little12) : (f32, f32) -> f32
      %little14 = "arith.addf"(%little13, %little13) : (f32, f32) -> f32
      %little15 = "arith.addf"(%little14, %little14) : (f32, f32) -> f32
      %little16 = "arith.addf"(%little15, %little15) : (f32, f32) -> f32
      %little17 = "arith.addf"(%little16, %little16) : (f32, f32) -> f32
      %little18 = "arith.addf"(%little17, %little17) : (f32, f32) -> f32
      %little19 = "arith.addf"(%little18, %little18) : (f32, f32) -> f32
      %little20 = "arith.addf"(%little19, %little19) : (f32, f32) -> f32
      "weft.set"(%sum, %little20) : (!llvm.ptr<5>, f32) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.for"(%zero, %few, %one) ({
    ^bb0(%much: i64):
      %much0 = "weft.get"(%sum) : (!llvm.ptr<5>) -> f32
      %much1 = "arith.addf"(%much0, %much0) : (f32, f32) -> f32
      %much2 = "arith.addf"(%much1, %much1) : (f32, f32) -> f32
      %much3 = "arith.addf"(%much2, %much2) : (f32, f32) -> f32
      %much4 = "arith.addf"(%much3, %much3) : (f32, f32) -> f32
      %much5 = "arith.addf"(%much4, %much4) : (f32, f32) -> f32
      %much6 = "arith.addf"(%much5, %much5) : (f32, f32) -> f32
      %much7 = "arith.addf"(%much6, %much6) : (f32, f32) -> f32
      %much8 = "arith.addf"(%much7, %much7) : (f32, f32) -> f32
      %much9 = "arith.addf"(%much8, %much8) : (f32, f32) -> f32
      %much10 = "arith.addf"(%much9, %much9) : (f32, f32) -> f32
      %much11 = "arith.addf"(%much10, %much10) : (f32, f32) -> f32
      %much12 = "arith.addf"(%much11, %much11) : (f32, f32) -> f32
      %much13 = "arith.addf"(%much12, %much12) : (f32, f32) -> f32
      %much14 = "arith.addf"(%much13, %much13) : (f32, f32) -> f32
      %much15 = "arith.addf"(%much14, %much14) : (f32, f32) -> f32
      %much16 = "arith.addf"(%much15, %much15) : (f32, f32) -> f32
      %much17 = "arith.addf"(%much16, %much16) : (f32, f32) -> f32
      %much18 = "arith.addf"(%much17, %much17) : (f32, f32) -> f32
      %much19 = "arith.addf"(%much18, %much18) : (f32, f32) -> f32
      %much20 = "arith.addf"(%much19, %much19) : (f32, f32) -> f32
      %much21 = "arith.addf"(%much20, %much20) : (f32, f32) -> f32
      "weft.set"(%sum, %much21) : (!llvm.ptr<5>, f32) -> ()
    }) {"parallel" = false} : (i64, i64, i64) -> ()
    "weft.return"() : () -> ()
  }) {"gpu.kernel"} : () -> ()
}) : () -> ()
// After
// each: little
// together: much
