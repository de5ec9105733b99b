"""What the layers of torch take, as specs, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

_SIDES = (
    224, 32, 64, 28, 128, 256, 96, 84, 48, 40, 36, 16, 112, 160, 192, 299, 300, 320,
    384, 416, 512, 640, 572, 227, 80, 100, 8,
)  # fmt: skip
_LENGTHS = (128, 1024, 16000, 64, 32, 100, 256, 512, 4096, 16)
_VOLUMES = ("16, 112, 112", "32, 32, 32", "64, 64, 64", "8, 224, 224", "16, 16, 16")


def shapes_for(layer: Any) -> Iterator[str]:
    """Specs for what a layer of `torch.nn` takes; none for a layer that does not say.

    Example: for ``nn.Linear(784, 10)`` first ``f32[1, 784]``, then ``f32[1, 16, 784]``.
    """
    if _is_a(layer, "LazyModuleMixin") and layer.has_uninitialized_params():
        return
    rule = next((r for name, r in _RULES.items() if _is_a(layer, name)), None)
    if rule is not None:
        yield from rule(layer)
    else:
        yield from _matrix(layer)


def _is_a(layer: Any, name: str) -> bool:
    return any(
        base.__name__ == name and base.__module__.startswith("torch.nn.")
        for base in type(layer).__mro__
    )


def _matrix(layer: Any) -> Iterator[str]:
    """For a module of the user's own with a matrix among its direct parameters."""
    for parameter in layer.parameters(recurse=False):
        if parameter.ndim == 2:
            rows, columns = parameter.shape
            yield from (f"f32[1, {rows}]", f"f32[1, {columns}]", f"f32[1, 16, {rows}]")
            return


def _images(channels: int) -> Iterator[str]:
    sides = sorted(_SIDES, key=lambda side: side != 28) if channels == 1 else _SIDES
    for side in sides:
        yield f"f32[1, {channels}, {side}, {side}]"
    yield f"f32[2, {channels}, {sides[0]}, {sides[0]}]"


def _signals(channels: int) -> Iterator[str]:
    for length in _LENGTHS:
        yield f"f32[1, {channels}, {length}]"


def _volumes(channels: int) -> Iterator[str]:
    for volume in _VOLUMES:
        yield f"f32[1, {channels}, {volume}]"


def _features(width: int) -> Iterator[str]:
    yield f"f32[1, {width}]"
    yield f"f32[2, {width}]"  # batch norm in training refuses one row
    yield f"f32[1, 16, {width}]"
    side = round(width**0.5)
    if side * side == width:
        yield f"f32[1, 1, {side}, {side}]"
    side = round((width / 3) ** 0.5)
    if 3 * side * side == width:
        yield f"f32[1, 3, {side}, {side}]"
    yield f"f32[{width}]"


def _embedding(layer: Any) -> Iterator[str]:
    token = "ones" if layer.num_embeddings > 1 else "zeros"
    yield f"i64[1, 16]={token}"
    yield f"i64[1]={token}"


def _sequence(width: int, batch_first: bool) -> Iterator[str]:
    yield f"f32[1, 16, {width}]" if batch_first else f"f32[16, 1, {width}]"
    yield f"f32[16, {width}]"
    yield f"f32[1, {width}]"


def _normalized(layer: Any) -> Iterator[str]:
    sizes = ", ".join(map(str, layer.normalized_shape))
    yield f"f32[1, 16, {sizes}]"
    yield f"f32[1, {sizes}]"


def _batch_norm(channels: int, dims: int) -> Iterator[str]:
    if dims == 1:
        yield f"f32[2, {channels}]"
    sizes = ", ".join(["16"] * dims)
    yield f"f32[2, {channels}, {sizes}]"


_RULES: dict[str, Callable[[Any], Iterator[str]]] = {
    "Conv1d": lambda layer: _signals(layer.in_channels),
    "Conv2d": lambda layer: _images(layer.in_channels),
    "Conv3d": lambda layer: _volumes(layer.in_channels),
    "ConvTranspose1d": lambda layer: _signals(layer.in_channels),
    "ConvTranspose2d": lambda layer: _images(layer.in_channels),
    "ConvTranspose3d": lambda layer: _volumes(layer.in_channels),
    "Embedding": _embedding,
    "EmbeddingBag": _embedding,
    "RNNBase": lambda layer: _sequence(layer.input_size, layer.batch_first),
    "RNNCellBase": lambda layer: _features(layer.input_size),
    "MultiheadAttention": lambda layer: _sequence(layer.embed_dim, layer.batch_first),
    "Linear": lambda layer: _features(layer.in_features),
    "Bilinear": lambda layer: _features(layer.in1_features),
    "LayerNorm": _normalized,
    "RMSNorm": _normalized,
    "BatchNorm1d": lambda layer: _batch_norm(layer.num_features, 1),
    "BatchNorm2d": lambda layer: _batch_norm(layer.num_features, 2),
    "BatchNorm3d": lambda layer: _batch_norm(layer.num_features, 3),
    "GroupNorm": lambda layer: _images(layer.num_channels),
}
