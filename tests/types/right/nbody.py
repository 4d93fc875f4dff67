import numpy as np

from weft import Float32, Int, Pointer, func, kernel, struct
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.math import rsqrt, sqrt


@struct
class Vec3:
    x: Float32
    y: Float32
    z: Float32

    def __add__(self, other: "Vec3") -> "Vec3":
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: "Vec3") -> "Vec3":
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, by: Float32) -> "Vec3":
        return Vec3(self.x * by, self.y * by, self.z * by)

    def dot(self, other: "Vec3") -> Float32:
        return self.x * other.x + self.y * other.y + self.z * other.z

    def length(self) -> Float32:
        return sqrt(self.dot(self))


@struct
class Body:
    position: Vec3
    velocity: Vec3
    mass: Float32


@func
def pull(on: Vec3, by: Body, softening: Float32 = 1e-3) -> Vec3:
    d = by.position - on
    inverse = rsqrt(d.dot(d) + softening)
    return d * (by.mass * inverse * inverse * inverse)


@kernel
def step(bodies: Pointer[Body], out: Pointer[Body], n: Int, dt: Float32):
    i = global_idx.x
    if i >= n:
        return
    me = bodies[i]
    force = Vec3(0, 0, 0)
    for j in range(n):
        if j != i:
            force = force + pull(me.position, bodies[j])
    me.velocity = me.velocity + force * dt
    me.position += me.velocity * dt
    out[i] = me


ctx = DeviceContext(api="cpu")
bodies, out = ctx.enqueue_create_buffer(Body, 8), ctx.enqueue_create_buffer(Body, 8)
with bodies.map_to_host() as host:
    for k in range(8):
        host[k] = Body(Vec3(k, 0.5 * k, 1.0), Vec3(0.0, 0.0, 0.0), 1.0)
ctx.enqueue_function(step, bodies, out, 8, 0.01, over=8)
with out.map_to_host() as host:
    assert np.isfinite(host.numpy()["velocity"]["x"]).all()
