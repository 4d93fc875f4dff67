import numpy as np

from weft import Float32, Int, Int32, kernel, struct
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.memory import SoA


@struct
class Particle:
    x: Float32
    v: Float32
    kind: Int32


@kernel
def step(p: SoA[Particle], n: Int, dt: Float32):
    i = global_idx.x
    if i < n:
        q = p[i]
        p[i].x += q.v * dt
        if q.kind == 1:
            p[i] = Particle(0.0, -q.v, q.kind)


ctx = DeviceContext(api="cpu")
particles = SoA(ctx, Particle, 16)
ctx.enqueue_function(step, particles, 16, 0.5, over=16)
x, v, kind = np.zeros(16, np.float32), np.ones(16, np.float32), np.zeros(16, np.int32)
ctx.enqueue_function(step, {"x": x, "v": v, "kind": kind}, 16, 0.5, over=16)
ctx.synchronize()
assert (x == 0.5).all()
