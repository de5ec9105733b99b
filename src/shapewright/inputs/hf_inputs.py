"""What a transformers model takes, read from its config."""

from __future__ import annotations

import inspect
from typing import Any

from shapewright.inputs.example import Candidate
from shapewright.inputs.spec import parse

_TOKENS = "i64[2, 16]=ones"
_PARTS = ("vision_config", "image_config", "backbone_config", "encoder", "audio_config")


def candidates(model: Any, config: Any) -> tuple[Candidate, ...]:
    """Likely inputs of a transformers model: the obvious one, and the same with more.

    A model with a decoder is given both sides first.

    Example: for GPT-2 ``input_ids=i64[2, 16]=ones``, for ViT
    ``pixel_values=f32[2, 3, 224, 224]``, for T5 both `input_ids` and
    `decoder_input_ids`.
    """
    main = getattr(model, "main_input_name", "input_ids")
    taken = inspect.signature(model.forward).parameters
    made = {main: _input(main, config)}
    found = [made]
    if "decoder_input_ids" in taken:
        found.insert(0, made | {"decoder_input_ids": _TOKENS})
    needed = [name for name in _OTHERS if name in taken and name != main]
    if "pixel_values" in needed and _compares(model, config):
        found.insert(0, made | {"pixel_values": _input("pixel_values", config)})
    required = [n for n in needed if taken[n].default is inspect.Parameter.empty]
    if required:
        found.insert(0, made | {name: _input(name, config) for name in required})
    found += [made | {name: _input(name, config)} for name in needed]
    reason = f"the main input of {type(model).__name__}, sizes by its config"
    specs = dict.fromkeys(
        ", ".join(f"{name}={spec}" for name, spec in inputs.items()) for inputs in found
    )
    return tuple(Candidate(reason, parse(spec)) for spec in specs)


def _input(name: str, config: Any) -> str:
    if name in ("input_ids", "decoder_input_ids", "attention_mask", "token_type_ids"):
        return _TOKENS
    if name == "pixel_values_videos" or (name == "pixel_values" and _video(config)):
        return f"f32[2, {_of(config, 'num_frames', 16)}, {_image(config)}]"
    if name in ("pixel_values", "pixel_mask"):
        return f"f32[2, {_image(config)}]"
    if name == "input_features":
        return _features(config)
    if name == "bbox":
        return "i64[2, 16, 4]=zeros"
    if name == "inputs_embeds":
        return f"f32[2, 16, {_of(config, 'hidden_size', 64)}]"
    return "f32[2, 16000]"  # input_values: a second of sound


_OTHERS = ("input_ids", "pixel_values", "input_features", "input_values", "bbox")


def _compares(model: Any, config: Any) -> bool:
    """Whether it embeds text and image apart, like CLIP, and so needs both.

    A model that puts the image between the tokens runs on text alone.
    """
    both = hasattr(config, "text_config") and hasattr(config, "vision_config")
    return both and not hasattr(model, "get_placeholder_mask")


def _video(config: Any) -> bool:
    return getattr(config, "num_frames", None) is not None and hasattr(
        config, "tubelet_size"
    )


def _image(config: Any) -> str:
    """`C, H, W` by the config's `num_channels` and `image_size`."""
    size = _of(config, "image_size", 224)
    if isinstance(size, dict):
        size = (size.get("height", 224), size.get("width", 224))
    height, width = (size, size) if isinstance(size, int) else tuple(size)[:2]
    return f"{_of(config, 'num_channels', 3)}, {height}, {width}"


def _features(config: Any) -> str:
    """Log-mel frames: `(batch, bins, frames)` for Whisper, frames first for others."""
    bins = _of(config, "num_mel_bins", None)
    positions = _of(config, "max_source_positions", None)
    if bins and positions and hasattr(config, "decoder_start_token_id"):
        return f"f32[2, {bins}, {2 * positions}]"
    width = _of(config, "feature_projection_input_dim", None)
    width = width or _of(config, "input_feat_per_channel", None)
    return f"f32[2, 64, {width or bins or 80}]"


def _of(config: Any, name: str, default: Any) -> Any:
    """A setting of the config, or of the part of it that has one."""
    found = getattr(config, name, None)
    for part in _PARTS:
        if found is None and hasattr(getattr(config, part, None), name):
            found = getattr(getattr(config, part), name)
    return default if found is None else found
