"""Base models of transformers from default configs, fed the obvious input alone.

Every entry of transformers' own table of base models (605 in 5.23) is built from its
config class called without arguments, data-free, and run on its main input: token ids
(2 x 16 of ones) or an image batch of one at the config's size. Models whose main input
is something else (audio, boxes) get token ids as well, and fail for a stated reason.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch

from zoo import torchvision_stub
from zoo.observe import TooSlow, time_limit

torchvision_stub.install()

import transformers  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402
from transformers.models.auto.modeling_auto import (  # noqa: E402
    MODEL_MAPPING,
    MODEL_MAPPING_NAMES,
)


def names() -> list[str]:
    """Model types that have a base model, in transformers' own order."""
    return list(MODEL_MAPPING_NAMES)


def model_class(name: str) -> Any:
    """The base model class of a model type."""
    found = MODEL_MAPPING[CONFIG_MAPPING[name]]
    return found[0] if isinstance(found, tuple | list) else found


def build(name: str) -> Any:
    """The base model of a model type, on meta, from a default config."""
    with torch.device("meta"):
        return made(name)


def made(name: str) -> Any:
    """The base model of a model type, wherever tensors are made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model_class(name)(CONFIG_MAPPING[name]()).eval()


def without_initialisation() -> None:
    """Constructors stop drawing weights, for this process; shapes do not change."""
    transformers.PreTrainedModel.initialize_weights = lambda self: None


def image_shape(config: Any) -> tuple[int, ...]:
    """Batch of one image as the config describes it: (1, channels, height, width)."""
    for part in (config, getattr(config, "vision_config", None)):
        size = getattr(part, "image_size", None)
        if size is not None:
            height, width = size if isinstance(size, tuple | list) else (size, size)
            return (1, getattr(part, "num_channels", 3), height, width)
    return (1, getattr(config, "num_channels", 3), 224, 224)


def inputs(model: Any) -> dict[str, torch.Tensor]:
    """The obvious input, by its keyword, with real values."""
    if model.main_input_name == "pixel_values":
        return {"pixel_values": torch.zeros(image_shape(model.config))}
    return {"input_ids": torch.ones(2, 16, dtype=torch.int64)}


SECONDS = 120.0


def check(name: str) -> dict[str, Any]:
    """Build, run on bare meta, trace. `verdict`: traced, failed, not built."""
    without_initialisation()
    try:
        with time_limit(SECONDS):
            model = build(name)
    except (Exception, TooSlow, SystemExit) as error:
        return {"verdict": "not built", "cause": said(error), "bare": ""}
    given = inputs(model)
    result = {"input": " ".join(given), "bare": bare(model, given)}
    try:
        with time_limit(SECONDS), torch.no_grad():
            return {**result, **ours(model, given)}
    except (Exception, TooSlow, SystemExit) as error:
        return {**result, "verdict": "failed", "cause": f"raised {said(error)}"}


def said(error: BaseException) -> str:
    """An error in one line."""
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0] if first else ''}"[:200]


def bare(model: Any, given: dict[str, torch.Tensor]) -> str:
    """`ran`, or why the model does not run on bare meta."""
    on_meta = {name: value.to("meta") for name, value in given.items()}
    try:
        with time_limit(SECONDS), torch.no_grad():
            model(**on_meta)
    except (Exception, TooSlow, SystemExit) as error:
        return said(error)
    return "ran"


def ours(model: Any, given: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Trace on the given input with its values."""
    from zoo.ours import not_recorded, traced

    trace = traced(model, (), given)
    errors = [finding for finding in trace.findings if finding.severity == "error"]
    lost = not_recorded(trace)
    if lost:
        return {"verdict": "not recorded", "cause": lost[:200], "ops": len(trace.ops)}
    if trace.complete and not errors:
        assumed = [assumption.message for assumption in trace.assumptions]
        made = {"verdict": "traced", "cause": "", "ops": len(trace.ops)}
        return {**made, "assumed": assumed}
    why = errors[0] if errors else None
    text = f"{why.code}: {why.message}" if why else "stopped without a finding"
    return {"verdict": "failed", "cause": text[:200], "ops": len(trace.ops)}
