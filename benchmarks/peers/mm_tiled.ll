; The floor that Python cannot go below: LLVM IR by hand, for what scale, vadd and mm_tiled of seven.cu do.
target triple = "nvptx64-nvidia-cuda"
@as = internal addrspace(3) global [256 x float] undef, align 4
@bs = internal addrspace(3) global [256 x float] undef, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @mm_tiled(ptr %a, ptr %b, ptr %c, i32 %m, i32 %n, i32 %k) {
entry:
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %bx16 = mul i32 %bx, 16
  %by16 = mul i32 %by, 16
  %col = add i32 %bx16, %tx
  %row = add i32 %by16, %ty
  %rowk = mul i32 %row, %k
  %rok = icmp slt i32 %row, %m
  %cok = icmp slt i32 %col, %n
  %l0 = mul i32 %ty, 16
  %l = add i32 %l0, %tx
  %sa = getelementptr inbounds [256 x float], ptr addrspace(3) @as, i32 0, i32 %l
  %sb = getelementptr inbounds [256 x float], ptr addrspace(3) @bs, i32 0, i32 %l
  br label %head
head:
  %t = phi i32 [ 0, %entry ], [ %tn, %latch ]
  %s = phi float [ 0.0, %entry ], [ %si_n, %latch ]
  %more = icmp slt i32 %t, %k
  br i1 %more, label %la, label %done
la:
  %ttx = add i32 %t, %tx
  %ka = icmp slt i32 %ttx, %k
  %oka = and i1 %rok, %ka
  br i1 %oka, label %lda, label %ma
lda:
  %ia = add i32 %rowk, %ttx
  %ia64 = sext i32 %ia to i64
  %pa = getelementptr inbounds float, ptr %a, i64 %ia64
  %va0 = load float, ptr %pa, align 4
  br label %ma
ma:
  %va = phi float [ %va0, %lda ], [ 0.0, %la ]
  store float %va, ptr addrspace(3) %sa, align 4
  %tty = add i32 %t, %ty
  %kb = icmp slt i32 %tty, %k
  %okb = and i1 %cok, %kb
  br i1 %okb, label %ldb, label %mb
ldb:
  %ib0 = mul i32 %tty, %n
  %ib = add i32 %ib0, %col
  %ib64 = sext i32 %ib to i64
  %pb = getelementptr inbounds float, ptr %b, i64 %ib64
  %vb0 = load float, ptr %pb, align 4
  br label %mb
mb:
  %vb = phi float [ %vb0, %ldb ], [ 0.0, %ma ]
  store float %vb, ptr addrspace(3) %sb, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %inner
inner:
  %i = phi i32 [ 0, %mb ], [ %in, %inner ]
  %si = phi float [ %s, %mb ], [ %si_n, %inner ]
  %ja = add i32 %l0, %i
  %jb0 = mul i32 %i, 16
  %jb = add i32 %jb0, %tx
  %qa = getelementptr inbounds [256 x float], ptr addrspace(3) @as, i32 0, i32 %ja
  %qb = getelementptr inbounds [256 x float], ptr addrspace(3) @bs, i32 0, i32 %jb
  %xa = load float, ptr addrspace(3) %qa, align 4
  %xb = load float, ptr addrspace(3) %qb, align 4
  %pr = fmul contract float %xa, %xb
  %si_n = fadd contract float %si, %pr
  %in = add nsw i32 %i, 1
  %ic = icmp slt i32 %in, 16
  br i1 %ic, label %inner, label %latch, !llvm.loop !0
latch:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tn = add nsw i32 %t, 16
  br label %head
done:
  %st = and i1 %rok, %cok
  br i1 %st, label %wr, label %exit
wr:
  %ic0 = mul i32 %row, %n
  %ic1 = add i32 %ic0, %col
  %ic64 = sext i32 %ic1 to i64
  %pc = getelementptr inbounds float, ptr %c, i64 %ic64
  store float %s, ptr %pc, align 4
  br label %exit
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.full"}
