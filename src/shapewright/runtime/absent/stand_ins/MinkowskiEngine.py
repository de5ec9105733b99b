"""MinkowskiEngine: layers of points in a grid, features (N, C) at coordinates
(N, D + 1), the batch first.

Points are taken to be distinct. How many a stride leaves depends on data: it is what
the run assumes of `torch.unique`, and tells.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SOURCE = "signatures of https://nvidia.github.io/MinkowskiEngine, 0.5"
VERSION = "0.5.4"


class SparseTensor:
    """features (N, C), coordinates (N, D + 1)."""

    def __init__(
        self, features: Tensor, coordinates: Tensor | None = None,
        tensor_stride: Any = 1, coordinate_map_key: Any = None,
        coordinate_manager: Any = None, quantization_mode: Any = None,
        allocator_type: Any = None, minkowski_algorithm: Any = None,
        requires_grad: bool | None = None, device: Any = None,
    ) -> None:  # fmt: skip
        assert isinstance(features, Tensor), "Features must be a torch.Tensor"
        assert features.ndim == 2, (
            f"The feature should be a matrix, The input feature is an order-"
            f"{features.ndim} tensor."
        )
        if coordinates is None:
            if coordinate_map_key is None:
                raise ValueError("Either coordinates or coordinate_map_key is required")
            coordinates = coordinate_map_key
        assert isinstance(coordinates, Tensor), (
            "Coordinate must be of type torch.Tensor"
        )
        assert coordinates.ndim == 2, "The coordinates must be a matrix"
        assert features.shape[0] == coordinates.shape[0], (
            "The number of rows in features and coordinates do not match."
        )
        coordinates = coordinates.int()
        if device is not None:
            features, coordinates = features.to(device), coordinates.to(device)
        if requires_grad is not None:
            features.requires_grad_(requires_grad)
        self._F, self._C = features, coordinates
        self.D = coordinates.shape[1] - 1
        wide = isinstance(tensor_stride, int)
        self.tensor_stride = [tensor_stride] * self.D if wide else list(tensor_stride)
        self.finer: list[SparseTensor] = []

    def _with(self, features: Tensor) -> SparseTensor:
        out = SparseTensor(features, self._C, self.tensor_stride)
        out.finer = self.finer
        return out

    @property
    def F(self) -> Tensor:
        """The features (N, C)."""
        return self._F

    feats = features = F

    @property
    def C(self) -> Tensor:
        """The coordinates (N, D + 1)."""
        return self._C

    coordinates = C

    @property
    def coordinate_map_key(self) -> Tensor:
        """What stands for the points: their coordinates."""
        return self._C

    @property
    def coordinate_manager(self) -> None:
        """No manager."""
        return None

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self._F.device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the features."""
        return self._F.dtype

    @property
    def shape(self) -> torch.Size:
        """The sizes of the features."""
        return self._F.shape

    def size(self) -> torch.Size:
        """Return the sizes of the features."""
        return self._F.size()

    def __len__(self) -> int:
        return len(self._F)

    def _combine(self, other: Any, name: str) -> SparseTensor:
        more = other._F if isinstance(other, SparseTensor) else other
        return self._with(getattr(self._F, name)(more))

    def __add__(self, other: Any) -> SparseTensor:
        return self._combine(other, "__add__")

    def __sub__(self, other: Any) -> SparseTensor:
        return self._combine(other, "__sub__")

    def __mul__(self, other: Any) -> SparseTensor:
        return self._combine(other, "__mul__")


def _expand(value: Any, dimension: int) -> list[int]:
    return [value] * dimension if isinstance(value, int) else list(value)


def _stride_points(
    input: SparseTensor, stride: list[int]
) -> tuple[Tensor, Tensor, Any]:
    """Return the coordinates after a stride, the row of each point, the new stride."""
    if prod(stride) == 1:
        rows = torch.arange(len(input), device=input.device)
        return input._C, rows, input.tensor_stride
    strides = [a * b for a, b in zip(input.tensor_stride, stride, strict=True)]
    step = torch.tensor([1, *strides], dtype=torch.int32, device=input.device)
    points, rows = torch.unique(input._C // step * step, dim=0, return_inverse=True)
    return points, rows, strides


class MinkowskiConvolution(nn.Module):
    """features (N, in_channels): (N or other, out_channels)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any = -1,
        stride: Any = 1, dilation: Any = 1, bias: bool = False,
        kernel_generator: Any = None, expand_coordinates: bool = False,
        convolution_mode: Any = None, dimension: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        assert dimension is not None
        assert dimension > 0, (
            "Invalid dimension. Please provide a valid dimension argument. "
            f"dimension={dimension}"
        )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.dimension, self.stride = dimension, _expand(stride, dimension)
        volume = prod(_expand(kernel_size, dimension))
        alone = volume == 1 and prod(self.stride) == 1
        sizes = (in_channels, out_channels)
        self.kernel = nn.Parameter(torch.empty(sizes if alone else (volume, *sizes)))
        nn.init.kaiming_uniform_(self.kernel)
        self.bias = nn.Parameter(torch.zeros(1, out_channels)) if bias else None

    def forward(self, input: SparseTensor, coordinates: Any = None) -> SparseTensor:
        self._require(input)
        points, rows, strides = _stride_points(input, self.stride)
        kernel = self.kernel if self.kernel.dim() == 2 else self.kernel.sum(0)
        features = input._F @ kernel
        if prod(self.stride) > 1:
            start = features.new_zeros(len(points), self.out_channels)
            features = start.index_add(0, rows, features)
        if self.bias is not None:
            features = features + self.bias
        out = SparseTensor(features, points, strides)
        out.finer = [*input.finer, input] if prod(self.stride) > 1 else input.finer
        return out

    def _require(self, input: Any) -> None:
        assert isinstance(input, SparseTensor)
        assert self.dimension == input.D
        if input._F.shape[1] != self.in_channels:
            raise RuntimeError(
                f"Input feature size and kernel size mismatch: {input._F.shape[1]} and "
                f"{self.in_channels}"
            )


class MinkowskiConvolutionTranspose(MinkowskiConvolution):
    """A convolution back to the points before the stride; without one before it, to the
    same points.
    """

    def forward(self, input: SparseTensor, coordinates: Any = None) -> SparseTensor:
        self._require(input)
        target = coordinates if isinstance(coordinates, SparseTensor) else None
        finer = input.finer
        if target is None and finer and prod(self.stride) > 1:
            target, finer = finer[-1], finer[:-1]
        kernel = self.kernel if self.kernel.dim() == 2 else self.kernel.sum(0)
        features = input._F @ kernel
        if target is None:
            out = input._with(features)
        else:
            whole = features.mean(0, keepdim=True).expand(len(target), -1)
            out = SparseTensor(whole.contiguous(), target._C, target.tensor_stride)
            out.finer = finer
        return out if self.bias is None else out._with(out._F + self.bias)


class MinkowskiLinear(nn.Module):
    """features (N, in_features): (N, out_features)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias)

    def forward(self, input: SparseTensor) -> SparseTensor:
        return input._with(self.linear(input._F))


class MinkowskiBatchNorm(nn.Module):
    """`nn.BatchNorm1d` of the features."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1,
        affine: bool = True, track_running_stats: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.bn = nn.BatchNorm1d(
            num_features, eps, momentum, affine, track_running_stats
        )

    def forward(self, input: SparseTensor) -> SparseTensor:
        return input._with(self.bn(input._F))


class _Elementwise(nn.Module):
    """A module of torch, of the features."""

    kind: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.module = type(self).kind(*args, **kwargs)

    def forward(self, input: SparseTensor) -> SparseTensor:
        return input._with(self.module(input._F))


_ELEMENTWISE = {
    f"Minkowski{name}": type(f"Minkowski{name}", (_Elementwise,), {
        "kind": getattr(nn, name), "__doc__": f"`nn.{name}` of the features.",
    })
    for name in (
        "ReLU", "LeakyReLU", "PReLU", "ELU", "SELU", "GELU", "SiLU", "Sigmoid", "Tanh",
        "Softplus", "Dropout",
    )
}  # fmt: skip


class _Pooling(nn.Module):
    """features (N, C): (N or other, C)."""

    reduce = "amax"

    def __init__(
        self, kernel_size: Any, stride: Any = 1, dilation: Any = 1,
        kernel_generator: Any = None, dimension: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        assert dimension is not None
        assert dimension > 0, f"dimension must be a positive integer, {dimension}"
        self.stride = _expand(stride, dimension)

    def forward(self, input: SparseTensor, coordinates: Any = None) -> SparseTensor:
        points, rows, strides = _stride_points(input, self.stride)
        start = input._F.new_zeros(len(points), input._F.shape[1])
        index = rows[:, None].expand_as(input._F)
        features = start.scatter_reduce(
            0, index, input._F, self.reduce, include_self=False
        )
        out = SparseTensor(features, points, strides)
        out.finer = [*input.finer, input] if prod(self.stride) > 1 else input.finer
        return out


class MinkowskiMaxPooling(_Pooling):
    """The largest of what a kernel reaches."""


class MinkowskiSumPooling(_Pooling):
    """The sum of what a kernel reaches."""

    reduce = "sum"


class MinkowskiAvgPooling(_Pooling):
    """The mean of what a kernel reaches."""

    reduce = "mean"

    def __init__(
        self, kernel_size: Any = -1, stride: Any = 1, dilation: Any = 1,
        kernel_generator: Any = None, dimension: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, stride, dilation, kernel_generator, dimension)


class MinkowskiGlobalPooling(nn.Module):
    """features (N, C): (batch, C); the batch is the largest of the coordinates."""

    reduce = "mean"

    def __init__(self, mode: Any = None) -> None:
        super().__init__()

    def forward(self, input: SparseTensor, coordinates: Any = None) -> SparseTensor:
        rows = input._C[:, 0].long()
        count = int(rows.max()) + 1
        index = rows[:, None].expand_as(input._F)
        start = input._F.new_zeros(count, input._F.shape[1])
        features = start.scatter_reduce(
            0, index, input._F, self.reduce, include_self=False
        )
        points = torch.arange(count, dtype=torch.int32, device=input.device)[:, None]
        return SparseTensor(features, F.pad(points, (0, input.D)), [0] * input.D)


class MinkowskiGlobalMaxPooling(MinkowskiGlobalPooling):
    """The largest of each cloud."""

    reduce = "amax"


def cat(*sparse_tensors: Any) -> Any:
    """Join the features of the same points."""
    whole = sparse_tensors[0] if len(sparse_tensors) == 1 else sparse_tensors
    if len({len(part) for part in whole}) > 1:
        raise AssertionError("the sparse tensors have different coordinates")
    return whole[0]._with(torch.cat([part._F for part in whole], 1))


_LAYERS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        SparseTensor, MinkowskiConvolution, MinkowskiConvolutionTranspose,
        MinkowskiLinear, MinkowskiBatchNorm, MinkowskiMaxPooling, MinkowskiSumPooling,
        MinkowskiAvgPooling, MinkowskiGlobalPooling, MinkowskiGlobalMaxPooling, cat,
    )
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {
        **_LAYERS, **_ELEMENTWISE, "MinkowskiSyncBatchNorm": MinkowskiBatchNorm,
        "MinkowskiGlobalAvgPooling": MinkowskiGlobalPooling,
    },
}  # fmt: skip
