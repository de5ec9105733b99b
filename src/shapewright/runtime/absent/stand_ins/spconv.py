"""spconv: convolutions of points in a grid, features (N, C) at indices (N, ndim + 1).

A submanifold convolution has the points of its input. How many points others have
depends on data: those of the voxels that a point reaches when it is moved by the
padding and divided by the stride, counted by `torch.unique`, of which the run assumes
and tells how many are distinct.
"""

from __future__ import annotations

from collections import OrderedDict
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

SOURCE = (
    "signatures of https://github.com/traveller59/spconv/blob/master/docs/USAGE.md, 2.3"
)
VERSION = "2.3.8"


class SparseConvTensor:
    """features (N, C), indices (N, ndim + 1) as int32, the batch first."""

    def __init__(
        self, features: Tensor, indices: Tensor, spatial_shape: Any, batch_size: int,
        grid: Tensor | None = None, voxel_num: Tensor | None = None,
        indice_dict: dict[str, Any] | None = None, benchmark: bool = False,
        permanent_thrust_allocator: bool = False, enable_timer: bool = False,
        force_algo: Any = None,
    ) -> None:  # fmt: skip
        assert features.ndim == 2
        assert indices.ndim == 2
        assert len(spatial_shape) == indices.shape[1] - 1, (
            "spatial shape must equal to ndim"
        )
        assert indices.dtype == torch.int32, "only support int32"
        assert batch_size > 0
        self._features, self.indices = features, indices
        self.spatial_shape = [int(size) for size in spatial_shape]
        self.batch_size, self.grid, self.voxel_num = batch_size, grid, voxel_num
        self.indice_dict = {} if indice_dict is None else indice_dict

    @property
    def features(self) -> Tensor:
        """The features (N, C)."""
        return self._features

    @features.setter
    def features(self, value: Tensor) -> None:
        raise ValueError(
            "you can't set feature directly, use 'x = "
            "x.replace_feature(your_new_feature)' to generate new SparseConvTensor "
            "instead."
        )

    def replace_feature(self, feature: Tensor) -> SparseConvTensor:
        """Return the same points with other features."""
        return SparseConvTensor(
            feature, self.indices, self.spatial_shape, self.batch_size, self.grid,
            self.voxel_num, self.indice_dict,
        )  # fmt: skip

    @property
    def spatial_size(self) -> int:
        """How many voxels there are."""
        return prod(self.spatial_shape)

    def find_indice_pair(self, key: str | None) -> Any:
        """Return what a convolution of that key has kept."""
        return None if key is None else self.indice_dict.get(key)

    def dense(self, channels_first: bool = True) -> Tensor:
        """Return (batch_size, C, *spatial_shape)."""
        sizes = (self.batch_size, *self.spatial_shape, self.features.shape[1])
        places = tuple(self.indices.long().unbind(1))
        out = self.features.new_zeros(sizes).index_put(places, self.features)
        return out.movedim(-1, 1).contiguous() if channels_first else out

    def __add__(self, other: Any) -> SparseConvTensor:
        assert isinstance(other, SparseConvTensor | Tensor)
        more = other if isinstance(other, Tensor) else other.features
        return self.replace_feature(self.features + more)


def _expand(ndim: int, value: Any) -> list[int]:
    values = [value] * ndim if isinstance(value, int) else list(value)
    assert len(values) == ndim
    return [int(value) for value in values]


class SparseModule(nn.Module):
    """A module of a `SparseConvTensor`."""

    def __init__(self, name: Any = None) -> None:
        super().__init__()
        self.name = name


class SparseConvolution(SparseModule):
    """features (N, in_channels): (N or other, out_channels)."""

    def __init__(
        self, ndim: int, in_channels: int, out_channels: int, kernel_size: Any = 3,
        stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
        bias: bool = True, subm: bool = False, inverse: bool = False,
        indice_key: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        assert groups == 1, "don't support groups for now"
        self.ndim, self.in_channels, self.out_channels = ndim, in_channels, out_channels
        self.kernel_size, self.stride = (
            _expand(ndim, kernel_size),
            _expand(ndim, stride),
        )
        self.padding, self.dilation = _expand(ndim, padding), _expand(ndim, dilation)
        self.subm, self.inverse, self.indice_key = subm, inverse, indice_key
        self.conv1x1 = prod(self.kernel_size) == 1
        if not subm:
            self.conv1x1 &= prod(self.stride) == 1
            if self.conv1x1:
                assert self.padding == [0] * ndim, (
                    "padding must be zero for 1x1 conv (k=1,s=1)"
                )
        self.weight = nn.Parameter(
            torch.empty(out_channels, *self.kernel_size, in_channels)
        )
        nn.init.kaiming_uniform_(self.weight, a=5**0.5)
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def forward(self, input: SparseConvTensor, add_input: Any = None) -> Any:
        assert isinstance(input, SparseConvTensor)
        assert input.features.shape[1] == self.in_channels, "channel size mismatch"
        features, indices, shape = input.features, input.indices, input.spatial_shape
        rows = None
        if self.inverse:
            kept = input.find_indice_pair(self.indice_key)
            assert kept is not None, "inverse conv must use sparse conv's indice_key"
            indices, shape, rows = kept
        elif not self.subm and not self.conv1x1:
            kept = indices, shape
            shape, indices, rows = self._stride_points(input)
            if self.indice_key is not None:
                input.indice_dict[self.indice_key] = (*kept, rows)
        out = features @ self.weight.flatten(1, -2).sum(1).mT
        if self.inverse:
            out = out[rows]
        elif rows is not None:
            out = out.new_zeros(len(indices), self.out_channels).index_add(0, rows, out)
        if self.bias is not None:
            out = out + self.bias
        return SparseConvTensor(
            out, indices, shape, input.batch_size, input.grid, input.voxel_num,
            input.indice_dict,
        )  # fmt: skip

    def _stride_points(self, input: SparseConvTensor) -> Any:
        """Return the sizes of the output, its points, and the point of each input."""
        sizes = [
            (side + 2 * pad - spread * (kernel - 1) - 1) // step + 1
            for side, pad, spread, kernel, step in zip(
                input.spatial_shape, self.padding, self.dilation, self.kernel_size,
                self.stride, strict=True,
            )
        ]  # fmt: skip
        where: dict[str, Any] = {"dtype": torch.int32, "device": input.indices.device}
        step, most = torch.tensor(self.stride, **where), torch.tensor(sizes, **where)
        places = torch.minimum((input.indices[:, 1:] // step).clamp(min=0), most - 1)
        whole = torch.cat((input.indices[:, :1], places), 1)
        points, rows = torch.unique(whole, dim=0, return_inverse=True)
        return sizes, points, rows


class _Numbered(SparseConvolution):
    """A convolution of as many dims as its class says."""

    dims, points = 3, False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        indice_key: str | None = None, algo: Any = None,
        fp32_accum: bool | None = None, record_voxel_count: bool = False,
        large_kernel_fast_algo: bool = False, name: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            self.dims, in_channels, out_channels, kernel_size, stride, padding,
            dilation, groups, bias, self.points, False, indice_key,
        )  # fmt: skip


class SparseConv2d(_Numbered):
    """A convolution whose points are those that a kernel reaches."""

    dims = 2


class SparseConv3d(_Numbered):
    """A convolution whose points are those that a kernel reaches."""


class _Submanifold(SparseConvolution):
    """A convolution whose points are those of its input."""

    dims = 3

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        indice_key: str | None = None, algo: Any = None,
        fp32_accum: bool | None = None, large_kernel_fast_algo: bool = False,
        name: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            self.dims, in_channels, out_channels, kernel_size, stride, padding,
            dilation, groups, bias, True, False, indice_key,
        )  # fmt: skip


class SubMConv2d(_Submanifold):
    """A convolution whose points are those of its input."""

    dims = 2


class SubMConv3d(_Submanifold):
    """A convolution whose points are those of its input."""


class SparseInverseConv3d(SparseConvolution):
    """A convolution back to the points before that of its key."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, indice_key: str,
        bias: bool = True, algo: Any = None, fp32_accum: bool | None = None,
        large_kernel_fast_algo: bool = False, name: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            3, in_channels, out_channels, kernel_size, bias=bias, inverse=True,
            indice_key=indice_key,
        )  # fmt: skip


class SparseSequential(SparseModule):
    """Modules one after the other; those of torch have the features."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            kwargs = {**args[0], **kwargs}
            args = ()
        for place, module in enumerate(args):
            self.add_module(str(place), module)
        for name, module in kwargs.items():
            if name in self._modules:
                raise ValueError("name exists.")
            self.add_module(name, module)

    def __getitem__(self, idx: int) -> Any:
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return list(self._modules.values())[idx]

    def __len__(self) -> int:
        return len(self._modules)

    def add(self, module: nn.Module, name: str | None = None) -> None:
        """Add a module."""
        self.add_module(str(len(self._modules)) if name is None else name, module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            assert module is not None
            if isinstance(module, SparseModule) or not isinstance(
                input, SparseConvTensor
            ):
                input = module(input)
            else:
                input = input.replace_feature(module(input.features))
        return input


class ToDense(SparseModule):
    """(batch_size, C, *spatial_shape)."""

    def forward(self, x: SparseConvTensor) -> Tensor:
        return x.dense()


_PYTORCH = {
    kind.__name__: kind
    for kind in (
        SparseConvTensor, SparseModule, SparseSequential, SparseConv2d, SparseConv3d,
        SubMConv2d, SubMConv3d, SparseInverseConv3d, ToDense,
    )
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {}, "pytorch": _PYTORCH, "pytorch.modules": {"SparseModule": SparseModule},
    "pytorch.core": {"SparseConvTensor": SparseConvTensor},
}  # fmt: skip
