"""`timm:resnet50`, `timm:vit_base_patch16_224(num_classes=10)`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from shapewright.inputs.callables import Loaded, loaded_object
from shapewright.inputs.errors import InputError, did_you_mean
from shapewright.inputs.libraries import (
    constructing,
    display,
    keywords,
    library,
    nobody,
)
from shapewright.inputs.spec import Candidate, parse
from shapewright.inputs.target import Target


def load(target: Target, building: AbstractContextManager[Any]) -> Loaded:
    """Build a timm model without weights."""
    timm = library("timm", target)
    name, kwargs = target.place, keywords(target)
    if not timm.is_model(name.partition(".")[0]):
        hint = did_you_mean(name, timm.list_models())
        raise InputError(f"timm has no model `{name}`{hint}", target.text, len("timm:"))
    with building, constructing(name):
        model = timm.create_model(name, **({"pretrained": False} | kwargs))
    return loaded_object(
        model, display(target, name), nobody(), examples=_examples(model, kwargs)
    )


def _examples(model: Any, kwargs: dict[str, Any]) -> tuple[Candidate, ...]:
    """The input size of timm's `default_cfg`, as changed by the arguments."""
    config = getattr(model, "pretrained_cfg", None) or {}
    size = config.get("input_size") or getattr(model, "default_cfg", {}).get(
        "input_size"
    )
    if not size:
        return ()
    channels, height, width = size
    side = kwargs.get("img_size")
    if side is not None:
        height, width = (side, side) if isinstance(side, int) else side
    channels = kwargs.get("in_chans", channels)
    spec = parse(f"f32[1, {channels}, {height}, {width}]")
    return (Candidate("timm's `default_cfg`", spec),)
