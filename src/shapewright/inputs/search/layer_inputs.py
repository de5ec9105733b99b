"""The inputs that layers of a model expect: tensors with letters, image sizes, channels
and features.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shapewright.inputs.search.argument_uses import (
    ModelOperand,
    ReachedLayer,
    undo_moves,
)
from shapewright.inputs.search.hypotheses import Dim, Tensor

SPATIAL: dict[int, tuple[Dim, ...]] = {1: ("L",), 2: ("H", "W"), 3: ("D", "H", "W")}
"""Letters of the dims that windows slide over."""


def _iter_dims(layer: Any, place: str = "0") -> Iterator[tuple[Dim, ...]]:
    """Yield the dims that a layer expects of one of its inputs, the likeliest first.

    Example: for ``nn.Linear(784, 10)`` first ``("B", 784)``, then ``("B", "T", 784)``.
    """
    name = find_kind(layer)
    if is_lazy(layer) or name is None:
        return
    if "Conv" in name:
        yield ("B", layer.in_channels, *SPATIAL[int(name[-2])])
    elif name.startswith(("BatchNorm", "InstanceNorm")):
        rank = int(name[-2])
        if rank == 1 and name.startswith("BatchNorm"):
            yield ("B", layer.num_features)
        yield ("B", layer.num_features, *SPATIAL[rank])
    elif name == "GroupNorm":
        yield ("B", layer.num_channels, *SPATIAL[2])
        yield ("B", layer.num_channels)
        yield ("B", layer.num_channels, *SPATIAL[1])
    elif name in ("Embedding", "EmbeddingBag"):
        yield ("B", "T")
        yield ("B",)
    elif name in ("Linear", "Bilinear"):
        second = name == "Bilinear" and place == "1"
        width = (
            layer.in2_features
            if second
            else getattr(layer, "in_features", None) or layer.in1_features
        )
        yield ("B", width)
        yield ("B", "T", width)
    elif name in ("RNNBase", "RNNCellBase"):
        if place == "0":
            yield from _iter_recurrent_dims(layer, name)
    elif name in ("LayerNorm", "RMSNorm"):
        shape = tuple(layer.normalized_shape)
        yield ("B", "T", *shape)
        yield ("B", *shape)
    elif name in ("MultiheadAttention", "Transformer", "TransformerEncoderLayer",
                  "TransformerDecoderLayer", "TransformerEncoder",
                  "TransformerDecoder"):  # fmt: skip
        yield from _iter_attention_dims(layer, place)
    elif name.startswith(("MaxPool", "AvgPool", "AdaptiveAvg", "AdaptiveMax")):
        rank = next((int(character) for character in name if character.isdigit()), 2)
        yield ("B", 3 if rank > 1 else "C", *SPATIAL[rank])


def _iter_recurrent_dims(layer: Any, name: str) -> Iterator[tuple[Dim, ...]]:
    """Yield the dims of a sequence, with the batch dim where the layer expects it."""
    if name == "RNNCellBase":
        yield ("B", layer.input_size)
        return
    first = ("B", "T") if layer.batch_first else ("T", "B")
    yield (*first, layer.input_size)
    yield ("T", layer.input_size)


def _iter_attention_dims(layer: Any, place: str) -> Iterator[tuple[Dim, ...]]:
    """Yield the dims of queries, keys, values or masks."""
    attention = next(
        (
            submodule
            for submodule in layer.modules()
            if find_kind(submodule) == "MultiheadAttention"
        ),
        None,
    )
    if attention is None:
        return
    width = attention.embed_dim
    first: tuple[Dim, ...] = ("B", "T") if attention.batch_first else ("T", "B")
    if place in ("0", "query", "src"):
        yield (*first, width)
    elif place in ("1", "key", "tgt", "memory"):
        yield (*first, attention.kdim or width)
    elif place in ("2", "value") and layer is attention:
        yield (*first, attention.vdim or width)
    elif "key_padding_mask" in place or place == "3":
        yield ("B", "T")
    elif place.endswith("mask"):
        yield ("T", "T")


def is_lazy(layer: Any) -> bool:
    """Return whether the sizes of a layer are not known yet."""
    lazy = getattr(layer, "has_uninitialized_params", None)
    return bool(lazy and lazy())


KINDS = (
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
    "ConvTranspose3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "GroupNorm", "EmbeddingBag", "Embedding",
    "Linear", "Bilinear", "RNNBase", "RNNCellBase", "LayerNorm", "RMSNorm",
    "MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer",
    "TransformerEncoder", "TransformerDecoder", "Transformer", "MaxPool1d", "MaxPool2d",
    "MaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
)  # fmt: skip


def find_kind(layer: Any) -> str | None:
    """Return the name of the listed torch class of a layer, or None."""
    for base in type(layer).__mro__:
        if base.__module__.startswith("torch.nn.") and base.__name__ in KINDS:
            return base.__name__
    return None


def iter_tensors(met: ReachedLayer) -> Iterator[Tensor]:
    """Yield the tensors that an argument may be, given a layer that it reaches."""
    name = find_kind(met.layer)
    for dims in _iter_dims(met.layer, met.place):
        before = undo_moves(dims, met.moves)
        if before is None:
            continue
        dims = _name_dims(before)
        if name in ("Embedding", "EmbeddingBag"):
            if met.place == "0":
                yield _make_tokens(dims, met.layer.num_embeddings)
            continue
        mask = met.place.endswith("mask")
        yield Tensor(dims, "bool" if mask else "float32", "zeros" if mask else "")


def _make_tokens(dims: tuple[Dim, ...], count: int) -> Tensor:
    """Return an integer tensor whose values lie below `count`."""
    return Tensor(dims, "int64", f"0..{count}" if count > 1 else "zeros")


def _name_dims(dims: tuple[Any, ...]) -> tuple[Dim, ...]:
    """Replace each unknown dim by a letter of its own."""
    free = iter("SUVXYZ")
    return tuple(next(free) if dim is None else dim for dim in dims)


def iter_tensors_beside(beside: ModelOperand) -> Iterator[Tensor]:
    """Yield the tensors that an argument may be, given a tensor it is combined with."""
    shape: tuple[Dim, ...] = beside.shape
    shapes: list[tuple[Dim, ...]] = []
    if beside.how == "@" and shape:
        width = shape[-2] if len(shape) > 1 else shape[-1]
        shapes = [("B", width), ("B", "T", width)]
        if len(shape) > 2:
            shapes = [(*shape[:-2], "T", width)]
    elif beside.how == "@ of the right":
        shapes = [(shape[-1], "T"), (shape[-1],)]
    elif beside.how == "linear" and len(shape) == 2:
        shapes = [("B", shape[1]), ("B", "T", shape[1])]
    elif beside.how.startswith("conv"):
        shapes = [("B", shape[1], *SPATIAL[len(shape) - 2])]
    elif beside.how == "+" and shape:
        letters: tuple[Dim, ...] = ("B", "T", "H", "W", "D")
        kept = tuple(
            size if size != 1 else letters[min(at, 4)] for at, size in enumerate(shape)
        )
        shapes = [kept if shape[0] == 1 and len(shape) > 1 else ("B", *kept)]
        if len(kept) == 1:
            shapes.append(("B", "T", *kept))
    for dims in shapes:
        before = undo_moves(dims, beside.moves)
        if before is not None:
            yield Tensor(_name_dims(before))


USUAL = {
    "B": 2, "C": 3, "H": 224, "W": 224, "T": 16, "L": 128, "D": 16, "F": 64, "M": 80,
    "N": 32, "E": 32, "A": 16000, "S": 12, "U": 4, "V": 4, "X": 4, "Y": 4, "Z": 4,
}  # fmt: skip
"""Default sizes of the letters."""

IMAGES = ("image_size", "img_size", "input_size", "input_resolution", "in_size")
CHANNELS = ("num_channels", "in_channels", "in_chans", "n_channels", "channels")
FEATURES = ("hidden_size", "d_model", "n_embd", "embed_dim", "dim", "in_features")
BINS = ("num_mel_bins", "n_mels", "feature_size", "input_feat_per_channel")


def find_sizes(module: Any, config: Any = None) -> dict[str, int]:
    """Return a size for each letter."""
    letters = dict(USUAL)
    if module is None:
        return letters
    image = next(_iter_image_sizes(module, config), None)
    layers = [(find_kind(submodule) or "", submodule) for submodule in module.modules()]
    layers = [(name, layer) for name, layer in layers if name and not is_lazy(layer)]
    first = next((layer for name, layer in layers if name.endswith("2d")), None)
    channels = getattr(first, "in_channels", None) or find_setting(config, CHANNELS)
    letters["C"] = channels or 3
    if letters["C"] == 1:
        letters["H"] = letters["W"] = 28
    if next((name for name, _ in layers if "Conv" in name), "").endswith("3d"):
        letters["H"] = letters["W"] = 112
    if image is not None:
        letters["H"], letters["W"] = image
    features = next(
        (layer.in_features for name, layer in layers if name == "Linear"), None
    )
    letters["F"] = find_setting(config, FEATURES) or features or letters["F"]
    letters["M"] = find_setting(config, BINS) or letters["M"]
    return letters


def _iter_image_sizes(module: Any, config: Any) -> Iterator[tuple[int, int]]:
    """Yield heights and widths that the model or its config names."""
    for owner in (*_iter_configs(config), *module.modules()):
        for name in IMAGES:
            size = _get_attribute(owner, name)
            if isinstance(size, dict):
                size = (size.get("height"), size.get("width"))
            if type(size) is int and 4 <= size <= 4096:
                yield size, size
            elif isinstance(size, list | tuple) and len(size) in (2, 3):
                height, width = size[-2:]
                if type(height) is int and type(width) is int and min(size[-2:]) >= 4:
                    yield height, width


def find_setting(config: Any, names: tuple[str, ...]) -> int | None:
    """Return the first of these settings that a config or its parts have, or None."""
    for owner in _iter_configs(config):
        for name in names:
            value = _get_attribute(owner, name)
            if type(value) is int and value > 0:
                return value
    return None


def _iter_configs(config: Any) -> Iterator[Any]:
    """Yield a config and the configs inside it."""
    if config is None:
        return
    yield config
    for value in list(getattr(config, "__dict__", {}).values()):
        if hasattr(value, "to_dict") or type(value).__name__.endswith("Config"):
            yield value


def _get_attribute(owner: Any, name: str) -> Any:
    """Return an attribute without running a property."""
    if isinstance(owner, dict):
        return owner.get(name)
    return getattr(owner, "__dict__", {}).get(name)
