"""Rotations of pytorch3d."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from shapewright.runtime.absent.stand_ins import _rotations
from tests.rehearsing.kernels import Row

TURNS = _rotations.random_rotations(4)
AXES = torch.randn(4, 3)
AXES = AXES / AXES.norm(dim=-1, keepdim=True) * torch.tensor([[0.0], [1], [2], [3]])


def exponential() -> Tensor:
    """The matrix exponential of the cross product with each axis."""
    zero = torch.zeros(4)
    x, y, z = AXES.unbind(-1)
    rows = torch.stack((zero, -z, y, z, zero, -x, -y, x, zero), -1).view(4, 3, 3)
    return torch.linalg.matrix_exp(rows)


def turn(
    name: str, given: Tensor, shape: tuple[int, ...], back: str, **more: Any
) -> Row:
    """A rotation, turned there and back."""
    there, again = getattr(_rotations, name), getattr(_rotations, back)
    return Row(
        lambda: there(given, **more), shape,
        lambda: there(again(there(given, **more), **more), **more),
    )  # fmt: skip


QUATERNIONS = _rotations.random_quaternions(4)
ROWS = {
    "_rotations.axis_angle_to_matrix": Row(
        lambda: _rotations.axis_angle_to_matrix(AXES), (4, 3, 3), exponential
    ),
    "_rotations.so3_exp_map": Row(
        lambda: _rotations.so3_exp_map(AXES), (4, 3, 3), exponential,
        (lambda: _rotations.so3_exp_map(AXES[0]), ValueError, "Nx3"),
    ),
    "_rotations.matrix_to_axis_angle": Row(
        lambda: _rotations.matrix_to_axis_angle(exponential()), (4, 3), lambda: AXES,
        (lambda: _rotations.matrix_to_axis_angle(AXES), ValueError, "matrix shape"),
    ),
    "_rotations.so3_log_map": Row(
        lambda: _rotations.so3_log_map(exponential()), (4, 3), lambda: AXES,
        (lambda: _rotations.so3_log_map(AXES), ValueError, "3x3"),
    ),
    "_rotations.axis_angle_to_quaternion": Row(
        lambda: _rotations.axis_angle_to_quaternion(torch.tensor([0.0, 0, torch.pi])),
        (4,), lambda: torch.tensor([0.0, 0, 0, 1]),
    ),
    "_rotations.quaternion_to_axis_angle": turn(
        "quaternion_to_axis_angle", QUATERNIONS, (4, 3), "axis_angle_to_quaternion"
    ),
    "_rotations.quaternion_to_matrix": turn(
        "quaternion_to_matrix", QUATERNIONS, (4, 3, 3), "matrix_to_quaternion"
    ),
    "_rotations.matrix_to_quaternion": Row(
        lambda: _rotations.matrix_to_quaternion(
            _rotations.quaternion_to_matrix(QUATERNIONS)
        ), (4, 4), lambda: QUATERNIONS,
        (lambda: _rotations.matrix_to_quaternion(AXES), ValueError, "matrix shape"),
    ),
    "_rotations.quaternion_multiply": Row(
        lambda: _rotations.quaternion_to_matrix(
            _rotations.quaternion_multiply(QUATERNIONS, QUATERNIONS)
        ), (4, 3, 3),
        lambda: torch.linalg.matrix_power(
            _rotations.quaternion_to_matrix(QUATERNIONS), 2
        ),
    ),
    "_rotations.quaternion_invert": Row(
        lambda: _rotations.quaternion_raw_multiply(
            QUATERNIONS, _rotations.quaternion_invert(QUATERNIONS)
        ), (4, 4), lambda: torch.eye(4)[:1].expand(4, 4),
    ),
    "_rotations.quaternion_apply": Row(
        lambda: _rotations.quaternion_apply(QUATERNIONS, AXES), (4, 3),
        lambda: torch.einsum(
            "nij,nj->ni", _rotations.quaternion_to_matrix(QUATERNIONS), AXES
        ),
        (lambda: _rotations.quaternion_apply(QUATERNIONS, QUATERNIONS), ValueError,
         "not in 3D"),
    ),
    "_rotations.rotation_6d_to_matrix": Row(
        lambda: _rotations.rotation_6d_to_matrix(
            _rotations.matrix_to_rotation_6d(TURNS)
        ), (4, 3, 3), lambda: TURNS,
    ),
    "_rotations.matrix_to_rotation_6d": Row(
        lambda: _rotations.matrix_to_rotation_6d(TURNS), (4, 6),
        lambda: TURNS[:, :2].flatten(1),
    ),
    "_rotations.euler_angles_to_matrix": Row(
        lambda: _rotations.euler_angles_to_matrix(
            _rotations.matrix_to_euler_angles(TURNS, "ZYX"), "ZYX"
        ), (4, 3, 3), lambda: TURNS,
        (lambda: _rotations.euler_angles_to_matrix(AXES, "XXY"), ValueError,
         "Invalid convention"),
    ),
    "_rotations.matrix_to_euler_angles": Row(
        lambda: _rotations.euler_angles_to_matrix(
            _rotations.matrix_to_euler_angles(TURNS, "XZX"), "XZX"
        ), (4, 3, 3), lambda: TURNS,
        (lambda: _rotations.matrix_to_euler_angles(TURNS, "XY"), ValueError,
         "3 letters"),
    ),
    "_rotations.random_quaternions": Row(
        lambda: _rotations.random_quaternions(5).norm(dim=-1), (5,),
        lambda: torch.ones(5),
    ),
    "_rotations.random_rotations": Row(
        lambda: torch.linalg.det(_rotations.random_rotations(5)), (5,),
        lambda: torch.ones(5),
    ),
}  # fmt: skip
