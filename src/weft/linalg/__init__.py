"""Small vectors, matrices and quaternions for kernels, written in weft.

>>> from weft.linalg import cross, mat33, normalize, vec3
>>> cross(vec3(1, 0, 0), vec3(0, 1, 0)), mat33.identity() @ vec3(1, 2, 3)
(vec3(0.0, 0.0, 1.0), vec3(1.0, 2.0, 3.0))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from weft.diagnostics.modules import present
from weft.lang import Float16, Float32, Float64, Int32, UInt32
from weft.linalg.matrices import determinant, diag, inverse, trace, transpose
from weft.linalg.parts import norm
from weft.linalg.quaternions import slerp
from weft.linalg.vectors import cross, distance, dot, length, normalize, outer, reflect

if TYPE_CHECKING:
    from weft.linalg.value_types import Matrix, Quaternion, Vector
else:
    from weft.linalg.matrices import Matrix
    from weft.linalg.quaternions import Quaternion
    from weft.linalg.vectors import Vector

__all__ = [
    "Matrix",
    "Quaternion",
    "Vector",
    "cross",
    "determinant",
    "diag",
    "distance",
    "dot",
    "inverse",
    "length",
    "mat22",
    "mat22d",
    "mat22h",
    "mat33",
    "mat33d",
    "mat33h",
    "mat44",
    "mat44d",
    "mat44h",
    "norm",
    "normalize",
    "outer",
    "quat",
    "quatd",
    "quath",
    "reflect",
    "slerp",
    "trace",
    "transpose",
    "vec2",
    "vec2d",
    "vec2h",
    "vec2i",
    "vec2u",
    "vec3",
    "vec3d",
    "vec3h",
    "vec3i",
    "vec3u",
    "vec4",
    "vec4d",
    "vec4h",
    "vec4i",
    "vec4u",
]

vec2 = Vector[Float32, Literal[2]]
vec3 = Vector[Float32, Literal[3]]
vec4 = Vector[Float32, Literal[4]]
vec2d = Vector[Float64, Literal[2]]
vec3d = Vector[Float64, Literal[3]]
vec4d = Vector[Float64, Literal[4]]
vec2h = Vector[Float16, Literal[2]]
vec3h = Vector[Float16, Literal[3]]
vec4h = Vector[Float16, Literal[4]]
vec2i = Vector[Int32, Literal[2]]
vec3i = Vector[Int32, Literal[3]]
vec4i = Vector[Int32, Literal[4]]
vec2u = Vector[UInt32, Literal[2]]
vec3u = Vector[UInt32, Literal[3]]
vec4u = Vector[UInt32, Literal[4]]
mat22 = Matrix[Float32, Literal[2], Literal[2]]
mat33 = Matrix[Float32, Literal[3], Literal[3]]
mat44 = Matrix[Float32, Literal[4], Literal[4]]
mat22d = Matrix[Float64, Literal[2], Literal[2]]
mat33d = Matrix[Float64, Literal[3], Literal[3]]
mat44d = Matrix[Float64, Literal[4], Literal[4]]
mat22h = Matrix[Float16, Literal[2], Literal[2]]
mat33h = Matrix[Float16, Literal[3], Literal[3]]
mat44h = Matrix[Float16, Literal[4], Literal[4]]
quat = Quaternion[Float32]
quatd = Quaternion[Float64]
quath = Quaternion[Float16]

present(globals())
