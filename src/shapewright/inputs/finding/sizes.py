"""Sizes that the model says of itself: its images, its channels, its features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shapewright.inputs.finding.taken import is_lazy, kind_of

USUAL = {
    "B": 2, "C": 3, "H": 224, "W": 224, "T": 16, "L": 128, "D": 16, "F": 64, "M": 80,
    "N": 32, "E": 32, "A": 16000, "S": 12, "U": 4, "V": 4, "X": 4, "Y": 4, "Z": 4,
}  # fmt: skip
"""What each letter stands for where nothing is known."""

IMAGES = ("image_size", "img_size", "input_size", "input_resolution", "in_size")
CHANNELS = ("num_channels", "in_channels", "in_chans", "n_channels", "channels")
FEATURES = ("hidden_size", "d_model", "n_embd", "embed_dim", "dim", "in_features")
BINS = ("num_mel_bins", "n_mels", "feature_size", "input_feat_per_channel")


def sizes_of(module: Any, config: Any = None) -> dict[str, int]:
    """A size for each letter."""
    found = dict(USUAL)
    if module is None:
        return found
    image = next(images(module, config), None)
    layers = [(kind_of(each) or "", each) for each in module.modules()]
    layers = [(name, each) for name, each in layers if name and not is_lazy(each)]
    first = next((one for name, one in layers if name.endswith("2d")), None)
    channels = getattr(first, "in_channels", None) or setting(config, CHANNELS)
    found["C"] = channels or 3
    if found["C"] == 1:
        found["H"] = found["W"] = 28
    if next((name for name, _ in layers if "Conv" in name), "").endswith("3d"):
        found["H"] = found["W"] = 112
    if image is not None:
        found["H"], found["W"] = image
    features = next((one.in_features for name, one in layers if name == "Linear"), None)
    found["F"] = setting(config, FEATURES) or features or found["F"]
    found["M"] = setting(config, BINS) or found["M"]
    return found


def images(module: Any, config: Any) -> Iterator[tuple[int, int]]:
    """Heights and widths that the model or its config names."""
    for owner in (*configs(config), *module.modules()):
        for name in IMAGES:
            size = of(owner, name)
            if isinstance(size, dict):
                size = (size.get("height"), size.get("width"))
            if type(size) is int and 4 <= size <= 4096:
                yield size, size
            elif isinstance(size, list | tuple) and len(size) in (2, 3):
                height, width = size[-2:]
                if type(height) is int and type(width) is int and min(size[-2:]) >= 4:
                    yield height, width


def setting(config: Any, names: tuple[str, ...]) -> int | None:
    """The first of these settings that a config, or a part of it, has as a number."""
    for owner in configs(config):
        for name in names:
            value = of(owner, name)
            if type(value) is int and value > 0:
                return value
    return None


def configs(config: Any) -> Iterator[Any]:
    """A config and the configs in it."""
    if config is None:
        return
    yield config
    for value in list(getattr(config, "__dict__", {}).values()):
        if hasattr(value, "to_dict") or type(value).__name__.endswith("Config"):
            yield value


def of(owner: Any, name: str) -> Any:
    """An attribute without running a property."""
    if isinstance(owner, dict):
        return owner.get(name)
    return getattr(owner, "__dict__", {}).get(name)
