"""Layers whose size attributes disagree with their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import nn

if TYPE_CHECKING:
    from shapewright.engine.module_calls import RunningCall
    from shapewright.runtime.training.story import Meet, ProgramRun

LINEAR = {"in_features": 1, "out_features": 0}
TABLE = {"num_embeddings": 0, "embedding_dim": 1}
WINDOW = {"in_channels": 1, "out_channels": 0}
TRANSPOSED = {"in_channels": 0, "out_channels": 1}
CHANNELS = {"num_features": 0}

SIZES: Mapping[type, Mapping[str, int]] = {
    nn.Linear: LINEAR,
    nn.Bilinear: {"in1_features": 1, "in2_features": 2, "out_features": 0},
    nn.Embedding: TABLE,
    nn.EmbeddingBag: TABLE,
    nn.Conv1d: WINDOW,
    nn.Conv2d: WINDOW,
    nn.Conv3d: WINDOW,
    nn.ConvTranspose1d: TRANSPOSED,
    nn.ConvTranspose2d: TRANSPOSED,
    nn.ConvTranspose3d: TRANSPOSED,
    nn.BatchNorm1d: CHANNELS,
    nn.BatchNorm2d: CHANNELS,
    nn.BatchNorm3d: CHANNELS,
    nn.GroupNorm: {"num_channels": 0},
    nn.PReLU: {"num_parameters": 0},
}
"""The dims of a layer's weight, by the attribute that repeats their size.

Subclasses are left out: they may give the attribute a meaning of their own.
"""


class LayerSizes:
    """Finds layers that are called with an attribute of another size than theirs."""

    def __init__(self, run: ProgramRun, meet: Meet) -> None:
        self.run = run
        self.meet = meet
        self.seen: set[tuple[int, str]] = set()

    def called(self, call: RunningCall) -> None:
        """Note that a call of a module has ended."""
        layer: Any = self.run.calls.alive.get(call.key)
        sizes = SIZES.get(type(layer))
        weight = layer._parameters.get("weight") if sizes is not None else None
        if sizes is None or weight is None:
            return
        shape = self.run.engine.info(weight).meta.shape
        if len(shape) <= max(sizes.values()):
            return
        groups = getattr(layer, "groups", 1)
        for name, dim in sizes.items():
            size = shape[dim] * (groups if dim == 1 else 1)
            if vars(layer).get(name) == size or (call.key, name) in self.seen:
                continue
            self.seen.add((call.key, name))
            sizes_shown = "x".join(map(str, shape))
            words = f"{call.path} {type(layer).__name__} {name} {sizes_shown}"
            self.meet("size-attribute", self.run.here(), None, words)
