source_filename = "stumbles"
target triple = "x86_64-unknown-linux-gnu"
define internal i64 @func$_of_integers(i64 %a0, i64 %a1) alwaysinline nounwind "target-cpu"="x86-64" {
entry:
  %v1 = alloca i64
  %v2 = alloca i64
  %v3 = alloca i64
  store i64 %a1, ptr %v3
  store i64 1, ptr %v2
  store i64 %a0, ptr %v1
  br label %while4
while4:
  %v7 = load i64, ptr %v3
  %v8 = icmp ne i64 %v7, 0
  br i1 %v8, label %do5, label %endwhile6
do5:
  %v9 = load i64, ptr %v2
  %v10 = load i64, ptr %v3
  %v11 = and i64 %v10, 1
  %v12 = icmp eq i64 %v11, 1
  %v13 = load i64, ptr %v1
  %v14 = select i1 %v12, i64 %v13, i64 1
  %v15 = mul i64 %v9, %v14
  store i64 %v15, ptr %v2
  %v16 = load i64, ptr %v1
  %v17 = load i64, ptr %v1
  %v18 = mul i64 %v16, %v17
  store i64 %v18, ptr %v1
  %v19 = load i64, ptr %v3
  %v20 = lshr i64 %v19, 1
  store i64 %v20, ptr %v3
  br label %while4
endwhile6:
  %v21 = load i64, ptr %v2
  ret i64 %v21
}
define internal void @func$stumbles$2e$loops$2e$block(i8 %a0, i64 %a1, i64 %a2, ptr noalias %a3, ptr noalias %a4, ptr noalias %a5, ptr noalias %a6, i64 %a7, i64 %a8, ptr noalias %a9, i64 %a10) noinline nounwind "target-cpu"="x86-64" {
entry:
  %v1 = load i64, ptr %a6
  %v2 = urem i64 %v1, %a7
  %v3 = udiv i64 %v1, %a7
  %v4 = urem i64 %v3, %a8
  %v5 = udiv i64 %v3, %a8
  %v6 = sub i64 %a7, %v2
  %v7 = load i64, ptr %a9
  %v8 = sub i64 %v7, %v1
  %v9 = icmp slt i64 %v8, %v6
  %v10 = select i1 %v9, i64 %v8, i64 %v6
  %v11 = add i64 %v1, %v10
  store i64 %v11, ptr %a6
  %v12 = udiv i64 %a10, 16
  %v13 = mul i64 %v12, 16
  %v14 = mul i64 %v13, %v10
  br label %for15
for15:
  %v21 = phi i64 [ 0, %entry ], [ %v22, %latch17 ]
  %v23 = icmp slt i64 %v21, %v14
  br i1 %v23, label %body16, label %endfor18
body16:
  %v24 = mul i64 %a10, %v2
  %v25 = add i64 %v24, %v21
  %v26 = mul i8 %a0, 170
  %v27 = icmp eq i64 %a1, 0
  %v28 = select i1 %v27, i64 1, i64 %a1
  %v29 = udiv i64 45, %v28
  %v30 = select i1 %v27, i64 0, i64 %v29
  %v31 = call i64 @func$_of_integers(i64 %a1, i64 %a2), !llvm.access.group !900000
  %v32 = add i64 %v30, %v31
  %v33 = getelementptr inbounds i64, ptr %a3, i64 %v25
  store i64 %v32, ptr %v33, align 8, !llvm.access.group !900000
  %v34 = add i8 %v26, %v26
  %v35 = mul i8 %v26, %v26
  %v36 = mul i8 %v35, %v35
  %v37 = mul i8 %v35, %v36
  %v38 = mul i8 %v34, %v37
  %v39 = getelementptr inbounds i8, ptr %a4, i64 %v25
  store i8 %v38, ptr %v39, align 1, !llvm.access.group !900000
  %v40 = add i8 %v26, %v26
  %v41 = mul i8 %v26, %v26
  %v42 = mul i8 %v41, %v41
  %v43 = mul i8 %v41, %v42
  %v44 = mul i8 %v40, %v43
  %v45 = getelementptr inbounds i8, ptr %a5, i64 %v25
  store i8 %v44, ptr %v45, align 1, !llvm.access.group !900000
  br label %latch17
latch17:
  %v22 = add nsw i64 %v21, 1
  br label %for15, !llvm.loop !900003
endfor18:
  ret void
}
define internal void @func$stumbles$2e$loops(ptr noalias %a0, ptr noalias %a1, ptr noalias %a2, i64 %a3, i64 %a4, i8 %a5, ptr %a6) alwaysinline nounwind "target-cpu"="x86-64" {
entry:
  %v1 = getelementptr inbounds i8, ptr %a6, i64 0
  %v2 = load i32, ptr %v1, align 4
  %v3 = zext i32 %v2 to i64
  %v4 = getelementptr inbounds i8, ptr %a6, i64 4
  %v5 = load i32, ptr %v4, align 4
  %v6 = zext i32 %v5 to i64
  %v7 = getelementptr inbounds i8, ptr %a6, i64 8
  %v8 = load i32, ptr %v7, align 4
  %v9 = zext i32 %v8 to i64
  %v10 = getelementptr inbounds i8, ptr %a6, i64 12
  %v11 = load i32, ptr %v10, align 4
  %v12 = zext i32 %v11 to i64
  %v13 = getelementptr inbounds i8, ptr %a6, i64 32
  %v14 = load i64, ptr %v13, align 8
  %v15 = getelementptr inbounds i8, ptr %a6, i64 40
  %v16 = load i64, ptr %v15, align 8
  %v17 = getelementptr inbounds i8, ptr %a6, i64 48
  %v18 = load i64, ptr %v17, align 8
  %v19 = getelementptr inbounds i8, ptr %a6, i64 56
  %v20 = load i64, ptr %v19, align 8
  %v21 = add i64 %v20, 128
  %v22 = alloca i8, i64 %v21, align 128
  %v23 = alloca i64
  %v24 = alloca i64
  store i64 0, ptr %v23
  store i64 0, ptr %v24
  br label %while25
while25:
  %v28 = load i64, ptr %v23
  %v29 = load i64, ptr %v24
  %v30 = icmp sge i64 %v28, %v29
  br i1 %v30, label %then31, label %endif33
then31:
  %v34 = getelementptr inbounds i8, ptr %a6, i64 24
  %v35 = atomicrmw add ptr %v34, i64 %v16 monotonic
  store i64 %v35, ptr %v23
  %v36 = add i64 %v35, %v16
  %v37 = icmp slt i64 %v36, %v14
  %v38 = select i1 %v37, i64 %v36, i64 %v14
  store i64 %v38, ptr %v24
  br label %endif33
endif33:
  %v39 = load i64, ptr %v23
  %v40 = icmp slt i64 %v39, %v14
  br i1 %v40, label %do26, label %endwhile27
do26:
  call void @func$stumbles$2e$loops$2e$block(i8 %a5, i64 %a3, i64 %a4, ptr %a0, ptr %a1, ptr %a2, ptr %v23, i64 %v3, i64 %v6, ptr %v24, i64 %v12)
  br label %while25
endwhile27:
  ret void
}
define dso_local  void @kernel$stumbles(ptr %a0, ptr %a1) noinline optnone nounwind "target-cpu"="x86-64" {
entry:
  %v1 = getelementptr inbounds i64, ptr %a0, i64 0
  %v2 = load ptr, ptr %v1, align 8
  %v3 = getelementptr inbounds i64, ptr %a0, i64 1
  %v4 = load ptr, ptr %v3, align 8
  %v5 = getelementptr inbounds i64, ptr %a0, i64 2
  %v6 = load ptr, ptr %v5, align 8
  %v7 = getelementptr inbounds i64, ptr %a0, i64 3
  %v8 = load i64, ptr %v7, align 8
  %v9 = getelementptr inbounds i64, ptr %a0, i64 4
  %v10 = load i64, ptr %v9, align 8
  %v11 = getelementptr inbounds i64, ptr %a0, i64 5
  %v12 = load i8, ptr %v11, align 8
  call void @func$stumbles$2e$loops(ptr %v2, ptr %v4, ptr %v6, i64 %v8, i64 %v10, i8 %v12, ptr %a1)
  ret void
}
!900000 = distinct !{}
!900001 = !{!"llvm.loop.parallel_accesses", !900000}
!900002 = !{!"llvm.loop.align", i32 32}
!900003 = distinct !{!900003, !900001, !900002}
