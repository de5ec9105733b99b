"""Inputs for a target when nobody gave any: found by search, and said so.

The names of `forward`'s parameters and the first layer with parameters suggest shapes;
the caller tries the candidates in order and keeps the first that runs.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from shapewright.inputs.bind import parameters_of
from shapewright.inputs.example import Candidate
from shapewright.inputs.layers import shapes_for
from shapewright.inputs.loaded import Loaded
from shapewright.inputs.spec import parse

if TYPE_CHECKING:
    from torch import nn

_TOKENS = "i64[1, 16]=ones"
_IMAGES = ("f32[1, 3, 224, 224]", "f32[1, 1, 28, 28]", "f32[1, 3, 32, 32]")
_UNKNOWN = (*_IMAGES, "f32[1, 16]", "f32[1, 16, 64]", _TOKENS)
_FOR_FUNCTIONS = ("f32[16, 16]", "f32[2, 16, 64]", *_IMAGES, "f32[16]", _TOKENS)

_MEANINGS = {
    "input_ids ids idx tokens token_ids input_tokens decoder_input_ids": _TOKENS,
    "attention_mask token_type_ids": _TOKENS,
    "position_ids segment_ids": "i64[1, 16]=zeros",
    "lengths length lens seq_len seq_lens input_lengths": "i64[1]=16",
    "t timestep timesteps labels label target targets": "i64[1]=1",
    "edge_index": "i64[2, 32]=zeros",
    "mask attn_mask src_mask tgt_mask hidden hidden_state state cache": "None",
}
NAMED = {name: spec for names, spec in _MEANINGS.items() for name in names.split()}
"""Specs for parameter names that nearly always mean the same thing."""

_TOKEN_NAMES = {"input_ids", "ids", "idx", "tokens", "token_ids"}
_IMAGE_NAMES = {"pixel_values", "image", "images", "img", "imgs"}


def guess(loaded: Loaded) -> list[Candidate]:
    """Inputs that the target may take, the likeliest first.

    Example: for a module whose ``forward(self, x)`` begins with
    ``nn.Conv2d(1, 6, 5)``: ``f32[1, 1, 28, 28]``, ``f32[1, 1, 224, 224]``, ...
    """
    parameters = parameters_of(loaded)
    if parameters is not None and not parameters:
        return [Candidate("it takes no inputs", parse(""))]
    needed = _to_be_given(parameters)
    if not needed:
        return [Candidate("none of its inputs has to be given", parse(""))]
    specs, why = _main_inputs(next(iter(needed)), loaded.module)
    found = [_joined(needed, spec, way) for way in _WAYS for spec in specs]
    reason = f"found by search: {why}"
    return [Candidate(reason, parse(spec)) for spec in dict.fromkeys(found)]


def _to_be_given(
    parameters: dict[str, inspect.Parameter] | None,
) -> dict[str, bool]:
    """Names of the inputs to be made, and whether each is given by name.

    Those without a default; if there are none, the first that defaults to None, as in
    ``forward(self, input_ids=None, ...)``, or one of ``*inputs``.
    """
    if parameters is None:
        return {"x": False}
    needed = {
        name: p.kind is p.KEYWORD_ONLY
        for name, p in parameters.items()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }
    if needed:
        return needed
    for place, (name, p) in enumerate(parameters.items()):
        if p.kind is p.VAR_POSITIONAL or p.default is None:
            return {name: place > 0 and p.kind is not p.VAR_POSITIONAL}
    return {}


_WAYS = ("by name", "the same", "None")
"""What inputs after the first are tried as."""


def _joined(needed: dict[str, bool], main: str, way: str) -> str:
    items = []
    for place, (name, by_name) in enumerate(needed.items()):
        spec = main if place == 0 or way != "None" else "None"
        if place and way == "by name":
            spec = NAMED.get(name, main)
        items.append(f"{name}={spec}" if by_name else spec)
    return ", ".join(items)


def _main_inputs(name: str, module: nn.Module | None) -> tuple[tuple[str, ...], str]:
    """Specs for the first input, and in words what they were read from."""
    if name in _TOKEN_NAMES:
        return (_TOKENS, "i64[1, 16]=zeros"), f"`{name}` is taken for token ids"
    for path, layer in module.named_modules() if module is not None else ():
        if specs := tuple(shapes_for(layer)):
            return specs, f"sizes by {_described(path, layer)}"
    if name in _IMAGE_NAMES:
        return _IMAGES, f"`{name}` is taken for an image"
    if name in NAMED and NAMED[name] != "None":
        return (NAMED[name], *_UNKNOWN), f"by the name `{name}`"
    return _UNKNOWN if module is not None else _FOR_FUNCTIONS, "usual shapes were tried"


def _described(path: str, layer: nn.Module) -> str:
    arguments = layer.extra_repr().split(", ")[:2]
    text = f"{type(layer).__name__}({', '.join(arguments)})".removesuffix("()")
    return f"`{path}`, {text}" if path else text
