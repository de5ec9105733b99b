"""Rotations of pytorch3d: matrices (..., 3, 3), quaternions (..., 4) with the real part
first, axes times angles (..., 3), two rows of a matrix (..., 6), and Euler angles.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

LETTERS = "XYZ"


def _require_matrix(matrix: Tensor) -> None:
    if matrix.dim() < 2 or tuple(matrix.shape[-2:]) != (3, 3):
        raise ValueError(f"Invalid rotation matrix shape {matrix.shape}.")


def _require_convention(convention: str) -> None:
    if len(convention) != 3:
        raise ValueError("Convention must have 3 letters.")
    if convention[1] in (convention[0], convention[2]):
        raise ValueError(f"Invalid convention {convention}.")
    for letter in convention:
        if letter not in LETTERS:
            raise ValueError(f"Invalid letter {letter} in convention string.")


def quaternion_to_matrix(quaternions: Tensor) -> Any:
    """(..., 4): (..., 3, 3)."""
    r, x, y, z = quaternions.unbind(-1)
    two = 2.0 / quaternions.square().sum(-1)
    rows = (
        1 - two * (y * y + z * z), two * (x * y - z * r), two * (x * z + y * r),
        two * (x * y + z * r), 1 - two * (x * x + z * z), two * (y * z - x * r),
        two * (x * z - y * r), two * (y * z + x * r), 1 - two * (x * x + y * y),
    )  # fmt: skip
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def matrix_to_quaternion(matrix: Tensor) -> Tensor:
    """(..., 3, 3): (..., 4), with a real part that is not negative."""
    _require_matrix(matrix)
    m = matrix
    d0, d1, d2 = m.diagonal(dim1=-2, dim2=-1).unbind(-1)
    squares = torch.stack(
        (1 + d0 + d1 + d2, 1 + d0 - d1 - d2, 1 - d0 + d1 - d2, 1 - d0 - d1 + d2), -1
    )
    sizes = squares.clamp(min=0).sqrt()
    a, b, c = (m[..., i, j] - m[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    d, e, f = (m[..., i, j] + m[..., j, i] for i, j in ((1, 0), (0, 2), (2, 1)))
    q = sizes.square()
    ways = torch.stack(
        (
            torch.stack((q[..., 0], a, b, c), -1),
            torch.stack((a, q[..., 1], d, e), -1),
            torch.stack((b, d, q[..., 2], f), -1),
            torch.stack((c, e, f, q[..., 3]), -1),
        ),
        -2,
    )
    ways = ways / (2.0 * sizes[..., None].clamp(min=0.1))
    best = F.one_hot(sizes.argmax(-1), 4)[..., None].to(ways.dtype)
    return standardize_quaternion((ways * best).sum(-2))


def standardize_quaternion(quaternions: Tensor) -> Tensor:
    """(..., 4): the same rotation, with a real part that is not negative."""
    return torch.where(quaternions[..., :1] < 0, -quaternions, quaternions)


def quaternion_raw_multiply(a: Tensor, b: Tensor) -> Tensor:
    """(..., 4) and (..., 4): their product."""
    aw, ax, ay, az = a.unbind(-1)
    bw, bx, by, bz = b.unbind(-1)
    parts = (
        aw * bw - ax * bx - ay * by - az * bz, aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw,
    )  # fmt: skip
    return torch.stack(parts, -1)


def quaternion_multiply(a: Tensor, b: Tensor) -> Tensor:
    """(..., 4) and (..., 4): their product, with a real part that is not negative."""
    return standardize_quaternion(quaternion_raw_multiply(a, b))


def quaternion_invert(quaternion: Tensor) -> Tensor:
    """(..., 4): the rotation back."""
    return quaternion * quaternion.new_tensor([1, -1, -1, -1])


def quaternion_apply(quaternion: Tensor, point: Tensor) -> Tensor:
    """(..., 4) and (..., 3): (..., 3)."""
    if point.shape[-1] != 3:
        raise ValueError(f"Points are not in 3D, {point.shape}.")
    wide = F.pad(point, (1, 0))
    out = quaternion_raw_multiply(
        quaternion_raw_multiply(quaternion, wide), quaternion_invert(quaternion)
    )
    return out[..., 1:]


def axis_angle_to_quaternion(axis_angle: Tensor) -> Tensor:
    """(..., 3): (..., 4)."""
    angles = axis_angle.norm(dim=-1, keepdim=True)
    halves = 0.5 * torch.sinc(angles * 0.5 / torch.pi)
    return torch.cat((torch.cos(angles * 0.5), axis_angle * halves), -1)


def quaternion_to_axis_angle(quaternions: Tensor) -> Tensor:
    """(..., 4): (..., 3)."""
    norms = quaternions[..., 1:].norm(dim=-1, keepdim=True)
    halves = torch.atan2(norms, quaternions[..., :1])
    return quaternions[..., 1:] / (0.5 * torch.sinc(halves / torch.pi))


def axis_angle_to_matrix(axis_angle: Tensor, fast: bool = False) -> Any:
    """(..., 3): (..., 3, 3)."""
    return quaternion_to_matrix(axis_angle_to_quaternion(axis_angle))


def matrix_to_axis_angle(matrix: Tensor, fast: bool = False) -> Tensor:
    """(..., 3, 3): (..., 3)."""
    return quaternion_to_axis_angle(matrix_to_quaternion(matrix))


def rotation_6d_to_matrix(d6: Tensor) -> Tensor:
    """(..., 6): (..., 3, 3)."""
    first, second = d6[..., :3], d6[..., 3:]
    b1 = F.normalize(first, dim=-1)
    b2 = F.normalize(second - (b1 * second).sum(-1, keepdim=True) * b1, dim=-1)
    return torch.stack((b1, b2, torch.linalg.cross(b1, b2, dim=-1)), -2)


def matrix_to_rotation_6d(matrix: Tensor) -> Tensor:
    """(..., 3, 3): (..., 6), its first two rows."""
    return matrix[..., :2, :].clone().reshape(*matrix.shape[:-2], 6)


def _turn(axis: str, angle: Tensor) -> Any:
    """Return the matrices (..., 3, 3) that turn around an axis."""
    direction = F.one_hot(torch.tensor(LETTERS.index(axis)), 3).to(angle)
    return axis_angle_to_matrix(angle[..., None] * direction)


def euler_angles_to_matrix(euler_angles: Tensor, convention: str) -> Any:
    """(..., 3): (..., 3, 3)."""
    if euler_angles.dim() == 0 or euler_angles.shape[-1] != 3:
        raise ValueError("Invalid input euler angles.")
    _require_convention(convention)
    turns = zip(convention, euler_angles.unbind(-1), strict=True)
    first, second, third = (_turn(letter, angle) for letter, angle in turns)
    return first @ second @ third


def matrix_to_euler_angles(matrix: Tensor, convention: str) -> Tensor:
    """(..., 3, 3): (..., 3)."""
    _require_convention(convention)
    _require_matrix(matrix)
    i, j, k = (LETTERS.index(letter) for letter in convention)
    proper = i == k
    k = 3 - i - j if proper else k
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    if proper:
        middle = matrix[..., i, i].clamp(-1, 1).acos()
        first = torch.atan2(matrix[..., j, i], -sign * matrix[..., k, i])
        last = torch.atan2(matrix[..., i, j], sign * matrix[..., i, k])
    else:
        middle = (sign * matrix[..., i, k]).clamp(-1, 1).asin()
        first = torch.atan2(-sign * matrix[..., j, k], matrix[..., k, k])
        last = torch.atan2(-sign * matrix[..., i, j], matrix[..., i, i])
    return torch.stack((first, middle, last), -1)


def random_quaternions(n: int, dtype: Any = None, device: Any = None) -> Tensor:
    """(n, 4)."""
    q = F.normalize(torch.randn(n, 4, dtype=dtype, device=device), dim=-1)
    return standardize_quaternion(q)


def random_rotations(n: int, dtype: Any = None, device: Any = None) -> Any:
    """(n, 3, 3)."""
    return quaternion_to_matrix(random_quaternions(n, dtype, device))


def random_rotation(dtype: Any = None, device: Any = None) -> Any:
    """(3, 3)."""
    return random_rotations(1, dtype, device)[0]


def so3_exp_map(log_rot: Tensor, eps: float = 0.0001) -> Any:
    """(N, 3): (N, 3, 3)."""
    if log_rot.dim() != 2 or log_rot.shape[1] != 3:
        raise ValueError("Input tensor shape has to be Nx3.")
    return axis_angle_to_matrix(log_rot)


def so3_log_map(R: Tensor, eps: float = 0.0001, cos_bound: float = 1e-4) -> Tensor:
    """(N, 3, 3): (N, 3)."""
    if R.dim() != 3 or R.shape[1:] != (3, 3):
        raise ValueError("Input has to be a batch of 3x3 Tensors.")
    return matrix_to_axis_angle(R)


FUNCTIONS = {
    function.__name__: function
    for function in (
        quaternion_to_matrix, matrix_to_quaternion, standardize_quaternion,
        quaternion_raw_multiply, quaternion_multiply, quaternion_invert,
        quaternion_apply, axis_angle_to_quaternion, quaternion_to_axis_angle,
        axis_angle_to_matrix, matrix_to_axis_angle, rotation_6d_to_matrix,
        matrix_to_rotation_6d, euler_angles_to_matrix, matrix_to_euler_angles,
        random_quaternions, random_rotations, random_rotation, so3_exp_map, so3_log_map,
    )
}  # fmt: skip
"""The functions of ``pytorch3d.transforms``, by name."""
