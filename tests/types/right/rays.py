import numpy as np

from weft import Float32, Int, Pointer, func, kernel, struct
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.linalg import cross, dot, mat33, normalize, vec3


@struct
class Ray:
    origin: vec3
    direction: vec3

    def at(self, t: Float32) -> vec3:
        return self.origin + self.direction * t


@func
def hit(ray: Ray, center: vec3, radius: Float32) -> Float32:
    oc = ray.origin - center
    b = dot(oc, ray.direction)
    c = dot(oc, oc) - radius * radius
    disc = b * b - c
    return -1.0 if disc < 0.0 else -b - disc**0.5


@kernel
def shade(out: Pointer[Float32], n: Int, light: vec3, turn: mat33):
    i = global_idx.x
    if i >= n:
        return
    ray = Ray(vec3(0.0, 0.0, -3.0), normalize(vec3(0.01 * Float32(i), 0.0, 1.0)))
    t = hit(ray, vec3(0.0), 1.0)
    if t > 0.0:
        normal = turn @ normalize(ray.at(t))
        side = cross(normal, vec3(0.0, 1.0, 0.0))
        out[i] = max(dot(normal, light), 0.0) + side.x * 0.0 + side[1] * 0.0


ctx = DeviceContext(api="cpu")
out = np.zeros(64, np.float32)
ctx.enqueue_function(shade, out, 64, (0.0, 0.0, -1.0), np.eye(3, dtype=np.float32), over=64)
ctx.enqueue_function(shade, out, 64, vec3(0.0, 0.0, -1.0), mat33(1, 0, 0, 0, 1, 0, 0, 0, 1), over=64)
ctx.synchronize()
assert out.max() > 0.99
