"""What the names of ``value_types.pyi`` are at run time, where editors jump from them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.linalg.matrices import Matrix as Matrix
    from weft.linalg.quaternions import Quaternion as Quaternion
    from weft.linalg.vectors import Vector as Vector
