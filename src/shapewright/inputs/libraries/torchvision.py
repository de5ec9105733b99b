"""`torchvision:resnet18`, `torchvision:fasterrcnn_resnet50_fpn`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from shapewright.inputs.callables import Loaded, loaded_object
from shapewright.inputs.errors import InputError, did_you_mean
from shapewright.inputs.libraries import (
    constructing,
    display,
    fits,
    keywords,
    library,
    nobody,
)
from shapewright.inputs.spec import Candidate, parse
from shapewright.inputs.target import Target

_FAMILIES = {
    "detection": "[f32[3, 480, 640]]",
    "segmentation": "f32[1, 3, 520, 520]",
    "video": "f32[1, 3, 16, 112, 112]",
    "optical_flow": "f32[1, 3, 256, 256], f32[1, 3, 256, 256]",
}
"""What torchvision's reference scripts feed the models of each of its packages."""

_SIDES = {"inception_v3": 299, "mvit": 224, "swin3d": 224}


def load(target: Target, building: AbstractContextManager[Any]) -> Loaded:
    """Build a torchvision model without weights."""
    models = library("torchvision", target).models
    name, kwargs = target.place, keywords(target)
    if name not in models.list_models():
        hint = did_you_mean(name, models.list_models())
        raise InputError(
            f"torchvision has no model `{name}`{hint}", target.text, len("torchvision:")
        )
    builder = models.get_model_builder(name)
    fits(builder, target, kwargs)
    with building, constructing(name):
        model = builder(**(_no_weights(builder) | kwargs))
    if "detection" in builder.__module__ and "targets" not in kwargs:
        model.eval()  # in training its forward needs targets
    examples = (Candidate("torchvision's usual size", parse(_usual(name, builder))),)
    return loaded_object(model, display(target, name), nobody(), examples=examples)


def _no_weights(builder: Callable[..., Any]) -> dict[str, Any]:
    """Detection and segmentation models would download weights of their backbone."""
    taken = inspect.signature(builder).parameters
    return {name: None for name in ("weights", "weights_backbone") if name in taken}


def _usual(name: str, builder: Callable[..., Any]) -> str:
    side = next((side for key, side in _SIDES.items() if name.startswith(key)), 224)
    for family, spec in _FAMILIES.items():
        if family in builder.__module__:
            if family == "video" and side != _SIDES.get("inception_v3"):
                small = not name.startswith(("mvit", "swin3d"))
                return spec if small else spec.replace("112", "224")
            return spec
    return f"f32[1, 3, {side}, {side}]"
