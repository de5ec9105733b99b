"""Pictures and sounds of files that are not there, as the usual libraries read them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

from shapewright.engine.replacement import copy_attributes
from shapewright.runtime.absent.late_imports import change_when_imported
from shapewright.runtime.absent.paths import AbsentPaths
from shapewright.runtime.absent.settings import GivenTensors

RATE = 22_050
"""Samples in a second of a sound about which nothing is said: that of LJSpeech,
https://keithito.com/LJ-Speech-Dataset."""
SECONDS = 5


@contextmanager
def replace_pictures(paths: AbsentPaths) -> Iterator[None]:
    """Let absent pictures and sounds be of zeros, where the program reads them."""
    with ExitStack() as stack:
        for module, names in READERS.items():
            change = _build_change(paths, names)
            stack.enter_context(change_when_imported(module, change))
        stack.enter_context(
            change_when_imported("torchvision.transforms.functional", _convert_bytes)
        )
        yield


def _convert_bytes(module: ModuleType, stack: ExitStack) -> None:
    """Let `to_tensor` scale bytes that have no data: it asks whether they are a
    `torch.ByteTensor`, which no tensor without data is (torchvision 0.28).
    """
    names: dict[str, Any] = vars(module)
    original = names["to_tensor"]

    def to_tensor(pic: Any) -> Any:
        import torch

        image = original(pic)
        if image.dtype == torch.uint8 and not isinstance(image, torch.ByteTensor):
            return image.to(torch.get_default_dtype()).div(255)
        return image

    names["to_tensor"] = copy_attributes(to_tensor, original)
    stack.callback(setattr, module, "to_tensor", original)


def _build_change(
    paths: AbsentPaths, names: dict[str, Callable[..., Any]]
) -> Callable[[ModuleType, ExitStack], None]:
    def change(module: ModuleType, stack: ExitStack) -> None:
        for name, make in names.items():
            original = vars(module).get(name)
            if original is None:
                continue
            setattr(module, name, _wrap_decoder(paths, original, make))
            stack.callback(setattr, module, name, original)

    return change


def _wrap_decoder(paths: AbsentPaths, original: Any, make: Callable[..., Any]) -> Any:
    """Return a reader that makes what is not there."""

    def read(file: Any, *args: Any, **kwargs: Any) -> Any:
        if paths.is_absent(file) and paths.stands_in(file, sys._getframe(1)):
            return make(paths, file, *args, **kwargs)
        return original(file, *args, **kwargs)

    return copy_attributes(read, original)


def _note_picture(paths: AbsentPaths, file: Any) -> tuple[int, int, int]:
    """Return the shape of an absent picture; tell of it once for each folder."""
    shape = paths.get_shape(file)
    folder = os.path.dirname(os.path.abspath(os.fspath(file)))
    if folder not in paths.listed:
        data = paths.find(file) or paths.find(folder)
        paths.listed[folder] = []
        words = f"pictures of {' x '.join(map(str, shape))}"
        paths.tell(
            f"`{os.path.relpath(folder)}`", words, "given" if data else "assumed"
        )
    return shape


def _make_pillow(
    paths: AbsentPaths, file: Any, mode: Any = "r", *args: Any, **kwargs: Any
) -> Any:
    from PIL import Image

    channels, height, width = _note_picture(paths, file)
    return Image.new("L" if channels == 1 else "RGB", (width, height))


def _make_array(
    paths: AbsentPaths, file: Any, flags: Any = None, *args: Any, **kwargs: Any
) -> Any:
    import numpy

    channels, height, width = _note_picture(paths, file)
    if channels == 1 and flags not in (None, 1):
        return numpy.zeros((height, width), numpy.uint8)
    return numpy.zeros((height, width, 3), numpy.uint8)


def _make_grey_array(paths: AbsentPaths, file: Any, *args: Any, **kwargs: Any) -> Any:
    import numpy

    channels, height, width = _note_picture(paths, file)
    size = (height, width) if channels == 1 else (height, width, channels)
    return numpy.zeros(size, numpy.uint8)


def _make_tensor(
    paths: AbsentPaths, path: Any, mode: Any = None, *args: Any, **kwargs: Any
) -> Any:
    import torch

    channels, height, width = _note_picture(paths, path)
    name = getattr(mode, "name", mode)
    channels = {"GRAY": 1, "RGB": 3, "RGB_ALPHA": 4}.get(str(name), channels)
    return torch.zeros(channels, height, width, dtype=torch.uint8)


def _get_sound(paths: AbsentPaths, file: Any, rate: int) -> tuple[int, int]:
    """Return the channels and samples of an absent sound."""
    folder = os.path.dirname(os.path.abspath(os.fspath(file)))
    data = paths.find(file) or paths.find(folder)
    channels, samples = 1, rate * SECONDS
    if data is not None and isinstance(data.holds, GivenTensors):
        channels, samples = (1, *data.holds.shape)[-2:]
    if folder not in paths.listed:
        paths.listed[folder] = []
        words = f"sounds of {channels} x {samples:,} samples, {rate:,} in a second"
        paths.tell(
            f"`{os.path.relpath(folder)}`", words, "given" if data else "assumed"
        )
    return channels, samples


def _make_wave(paths: AbsentPaths, filename: Any, *args: Any, **kwargs: Any) -> Any:
    import numpy

    channels, samples = _get_sound(paths, filename, RATE)
    size = samples if channels == 1 else (samples, channels)
    return RATE, numpy.zeros(size, numpy.int16)


def _make_librosa(
    paths: AbsentPaths, path: Any, *, sr: Any = RATE, mono: bool = True, **kwargs: Any
) -> Any:
    import numpy

    rate = int(sr or RATE)
    channels, samples = _get_sound(paths, path, rate)
    size = samples if mono or channels == 1 else (channels, samples)
    return numpy.zeros(size, numpy.float32), rate


def _make_soundfile(
    paths: AbsentPaths, file: Any, *args: Any, dtype: str = "float64", **kwargs: Any
) -> Any:
    import numpy

    channels, samples = _get_sound(paths, file, RATE)
    size = samples if channels == 1 else (samples, channels)
    return numpy.zeros(size, dtype), RATE


def _make_torchaudio(paths: AbsentPaths, uri: Any, *args: Any, **kwargs: Any) -> Any:
    import torch

    channels, samples = _get_sound(paths, uri, 16_000)
    return torch.zeros(channels, samples), 16_000


READERS: dict[str, dict[str, Callable[..., Any]]] = {
    "PIL.Image": {"open": _make_pillow},
    "cv2": {"imread": _make_array},
    "imageio": {"imread": _make_grey_array},
    "imageio.v2": {"imread": _make_grey_array},
    "skimage.io": {"imread": _make_grey_array},
    "torchvision.io": {"read_image": _make_tensor, "decode_image": _make_tensor},
    "scipy.io.wavfile": {"read": _make_wave},
    "librosa": {"load": _make_librosa},
    "librosa.core.audio": {"load": _make_librosa},
    "soundfile": {"read": _make_soundfile},
    "torchaudio": {"load": _make_torchaudio},
}
"""Functions that read a file, by their module, and what each gives in its place."""
