"""A fresh process: how long Triton takes from import to the first vector addition's result."""
# pyright: basic, reportMissingImports=false, reportIndexIssue=false

import json
import sys
import time

start = time.perf_counter()
try:
    import torch

    with_torch = time.perf_counter()
    import gpu_triton
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)
imported = time.perf_counter()
n = 1 << 20
a, b, c = (torch.ones(n, device="cuda") for _ in range(3))
torch.cuda.synchronize()
ready = time.perf_counter()
gpu_triton.vector_addition[(n // 256,)](a, b, c, n, B=256)
torch.cuda.synchronize()
launched = time.perf_counter()
assert bool((c == 2).all())
print(json.dumps({"import": imported - start, "context": ready - imported, "launch": launched - ready}))
