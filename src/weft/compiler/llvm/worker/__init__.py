"""What runs in the process that LLVM works in: it imports llvmlite and nothing else of weft."""
