"""Data sets of images that torchvision knows by name, where their files are absent."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from shapewright.engine.replacement import copy_attributes
from shapewright.record.ops import Basis
from shapewright.runtime.absent.late_imports import change_when_imported
from shapewright.runtime.absent.tellers import Tell


@dataclass(frozen=True, slots=True)
class _ImageSet:
    """The images of a data set: channels, height and width, lengths, and classes.

    `lengths` has one number for each split, by its name, or by True and False for
    `train`; `varied` says that the images of the original have several sizes.
    """

    shape: tuple[int, int, int]
    lengths: dict[str | bool, int]
    classes: int
    varied: bool = False


def _count_by_training(train: int, test: int) -> dict[str | bool, int]:
    return {True: train, False: test}


IMAGES = {
    # https://yann.lecun.com/exdb/mnist, https://github.com/zalandoresearch/fashion-mnist,
    # https://github.com/rois-codh/kmnist, arXiv:1702.05373 (EMNIST, by split)
    "MNIST": _ImageSet((1, 28, 28), _count_by_training(60_000, 10_000), 10),
    "FashionMNIST": _ImageSet((1, 28, 28), _count_by_training(60_000, 10_000), 10),
    "KMNIST": _ImageSet((1, 28, 28), _count_by_training(60_000, 10_000), 10),
    "QMNIST": _ImageSet((1, 28, 28), _count_by_training(60_000, 60_000), 10),
    "USPS": _ImageSet((1, 16, 16), _count_by_training(7_291, 2_007), 10),
    # https://www.cs.toronto.edu/~kriz/cifar.html
    "CIFAR10": _ImageSet((3, 32, 32), _count_by_training(50_000, 10_000), 10),
    "CIFAR100": _ImageSet((3, 32, 32), _count_by_training(50_000, 10_000), 100),
    # http://ufldl.stanford.edu/housenumbers, https://cs.stanford.edu/~acoates/stl10
    "SVHN": _ImageSet(
        (3, 32, 32), {"train": 73_257, "test": 26_032, "extra": 531_131}, 10
    ),
    "STL10": _ImageSet(
        (3, 96, 96),
        {"train": 5_000, "test": 8_000, "unlabeled": 100_000,
         "train+unlabeled": 105_000}, 10,
    ),
    # The documentation of torchvision.datasets, and the papers that it names.
    "Flowers102": _ImageSet(
        (3, 500, 667), {"train": 1_020, "val": 1_020, "test": 6_149}, 102, True
    ),
    "Food101": _ImageSet((3, 512, 512), {"train": 75_750, "test": 25_250}, 101, True),
    "GTSRB": _ImageSet((3, 48, 48), {"train": 26_640, "test": 12_630}, 43, True),
    "DTD": _ImageSet(
        (3, 480, 480), {"train": 1_880, "val": 1_880, "test": 1_880}, 47, True
    ),
    "OxfordIIITPet": _ImageSet(
        (3, 375, 500), {"trainval": 3_680, "test": 3_669}, 37, True
    ),
    "StanfordCars": _ImageSet(
        (3, 480, 640), {"train": 8_144, "test": 8_041}, 196, True
    ),
    "FGVCAircraft": _ImageSet(
        (3, 768, 1024), {"train": 3_334, "val": 3_333, "trainval": 6_667,
                         "test": 3_333}, 100, True,
    ),
    "Caltech101": _ImageSet((3, 200, 300), {"": 8_677}, 101, True),
    "Caltech256": _ImageSet((3, 300, 400), {"": 30_607}, 257, True),
    "PCAM": _ImageSet(
        (3, 96, 96), {"train": 262_144, "val": 32_768, "test": 32_768}, 2
    ),
    "ImageNet": _ImageSet(
        (3, 375, 500), {"train": 1_281_167, "val": 50_000}, 1_000, True
    ),
    "ImageFolder": _ImageSet((3, 375, 500), {"": 1_000}, 2, True),
}  # fmt: skip
"""What is known of each data set; of a folder nothing is, so that it is assumed: two
classes, as few as there can be, as labels beyond those of a model would be an error.
"""

HELD = (
    "MNIST", "FashionMNIST", "KMNIST", "QMNIST", "EMNIST", "USPS", "CIFAR10",
    "CIFAR100", "SVHN", "STL10", "ImageFolder",
)  # fmt: skip
"""Data sets whose items a class of the program's own may read: from arrays that they
hold, or from paths by their `loader`."""

EMNIST = {
    "byclass": (697_932, 116_323, 62), "bymerge": (697_932, 116_323, 47),
    "balanced": (112_800, 18_800, 47), "letters": (124_800, 20_800, 27),
    "digits": (240_000, 40_000, 10), "mnist": (60_000, 10_000, 10),
}  # fmt: skip
"""Training images, test images and classes of each split (letters count from 1)."""
ABSENT = (RuntimeError, OSError, ModuleNotFoundError)
"""What a data set raises whose files are not there."""


@contextmanager
def replace_image_sets(tell: Tell) -> Iterator[None]:
    """Let a data set whose files are absent have images of its shapes, of zeros."""
    with change_when_imported("torchvision.datasets", partial(_change_data_sets, tell)):
        yield


def _change_data_sets(tell: Tell, module: ModuleType, stack: ExitStack) -> None:
    """Replace the constructors of the data sets that are known."""
    for name in IMAGES:
        kind = getattr(module, name, None)
        if isinstance(kind, type) and "__init__" in vars(kind):
            _replace_constructor(kind, tell, stack)


def _find_images(kind: type, values: dict[str, Any], split: Any) -> _ImageSet | None:
    """Return what is known of a data set, or of the one that it derives from."""
    known = EMNIST.get(values.get("split", split) or "")
    if kind.__name__ == "EMNIST" and known is not None:
        train, test, classes = known
        return _ImageSet((1, 28, 28), _count_by_training(train, test), classes)
    return next(
        (IMAGES[base.__name__] for base in kind.__mro__ if base.__name__ in IMAGES),
        None,
    )


def _find_known_name(kind: type) -> str:
    """Return the name of the data set that a class is or derives from."""
    names = (base.__name__ for base in kind.__mro__)
    return next(name for name in names if name in IMAGES or name == "EMNIST")


def _replace_constructor(kind: Any, tell: Tell, stack: ExitStack) -> None:
    """Let the constructor of a data set go on where its files are absent."""
    original = kind.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        arguments = dict(kwargs)
        try:
            bound = inspect.signature(original).bind(self, *args, **kwargs)
        except TypeError:
            return original(self, *args, **kwargs)  # type: ignore[no-any-return]
        bound.apply_defaults()
        values = {**bound.arguments, **bound.arguments.pop("kwargs", {})}
        if "download" in values:
            arguments["download"] = False  # no command reaches for the network
            kept = list(inspect.signature(original).parameters)
            place = kept.index("download") - 1 if "download" in kept else len(args)
            args = args[:place]
        try:
            return original(self, *args, **arguments)  # type: ignore[no-any-return]
        except ABSENT:
            images = _find_images(type(self), values, getattr(self, "split", None))
            if images is None:
                raise
            if _has_own_items(type(self)) and kind.__name__ not in HELD:
                raise  # a data set of the program's own, which reads the files itself
            if not values.get("download") and _has_other_files(self, values):
                raise  # the program has files there, in another order
        _fill_data_set(self, images, values, tell)
        return None

    kind.__init__ = copy_attributes(__init__, original)
    stack.callback(setattr, kind, "__init__", original)


def _has_other_files(self: Any, values: dict[str, Any]) -> bool:
    """Return whether the folder of a data set is there and holds files that it does not
    read, such as images in a folder for each class.
    """
    name = _find_known_name(type(self))
    folder = os.path.join(str(values.get("root", "")), name)
    if not name.endswith("MNIST") or not os.path.isdir(folder):
        return False
    if os.path.isdir(os.path.join(folder, "raw")):
        return False
    return any(files for _, _, files in os.walk(folder))


def _fill_data_set(
    self: Any, images: _ImageSet, values: dict[str, Any], tell: Tell
) -> None:
    """Make a data set of zeros in place of one whose files are absent."""
    kind = type(self)
    root: Any = next(base for base in kind.__mro__ if base.__name__ == "VisionDataset")
    transforms = {
        word: values.get(word)
        for word in ("transforms", "transform", "target_transform")
        if values.get(word) is not None
    }
    root.__init__(self, values.get("root", ""), **transforms)
    split = values.get("train", values.get("split", values.get("image_set", "")))
    lengths = images.lengths
    length = lengths.get(split, next(iter(lengths.values())))
    name = kind.__name__
    classes = [f"class {n}" for n in range(images.classes)]
    attributes = {
        "train": split in (True, "train"),
        "split": getattr(self, "split", split),
        "classes": classes,
        "class_to_idx": {word: n for n, word in enumerate(classes)},
        "_absent": (images, length),
        **_make_arrays(_find_known_name(kind), images, length),
    }
    for word, value in attributes.items():
        with suppress(AttributeError):  # a property of its class
            setattr(self, word, value)
    if not _has_own_items(type(self)):
        self.__class__ = _get_stand_in(type(self))
    words = f"{length:,} images of {' x '.join(map(str, images.shape))}"
    words += f" and {images.classes} classes"
    is_folder = _find_known_name(kind) == "ImageFolder"
    if images.varied and not is_folder:
        words += " (their sizes vary)"
    basis: Basis = "assumed" if is_folder else "documented"
    tell(f"the files of `{name}`", words, basis)


def _make_arrays(name: str, images: _ImageSet, length: int) -> dict[str, Any]:
    """Return the arrays that programs read from a data set: `data`, `targets`."""
    import numpy as np
    import torch

    channels, height, width = images.shape
    labels = np.arange(length) % images.classes
    if name.endswith("MNIST"):
        zeros = np.zeros((length, height, width), np.uint8)  # untouched: no memory
        return {"data": torch.from_numpy(zeros), "targets": torch.from_numpy(labels)}
    arrays: dict[str, Any] = {"targets": labels.tolist()}
    if images.varied:
        samples = [(f"{n}.jpg", int(label)) for n, label in enumerate(labels)]
        arrays["loader"] = partial(_make_image, images)
        return {**arrays, "samples": samples, "imgs": samples, "_samples": samples}
    if name in ("SVHN", "STL10"):
        shape = (length, channels, height, width)
        return {"data": np.zeros(shape, np.uint8), "labels": labels}
    return {**arrays, "data": np.zeros((length, height, width, channels), np.uint8)}


def _make_image(images: _ImageSet, *path: Any) -> Any:
    """Return an image of a data set, whatever file it is read from."""
    from PIL import Image

    channels, height, width = images.shape
    return Image.new("L" if channels == 1 else "RGB", (width, height))


def _has_own_items(kind: type) -> bool:
    """Return whether a class of the program's own says what its items are."""
    owner = next(base for base in kind.__mro__ if "__getitem__" in vars(base))
    return not owner.__module__.startswith("torchvision.")


_MADE: dict[type, type] = {}

READ_OF_BATCH = 32
"""Images of a batch that are read one by one; if they are alike, so are the others."""


def _get_stand_in(kind: type) -> type:
    """Return a subclass of a data set whose items are made, not read."""
    if kind not in _MADE:

        def __len__(self: Any) -> int:
            return int(self._absent[1])

        def __getitem__(self: Any, index: Any) -> Any:
            images, length = self._absent
            place = int(index)
            if not -length <= place < length:
                raise IndexError(index)
            image = _make_image(images)
            target = place % images.classes
            if self.transforms is not None:
                return self.transforms(image, target)
            return image, target

        def __getitems__(self: Any, indices: list[Any]) -> list[Any]:
            return _read_batch(self, indices)

        body: dict[str, Any] = {"__len__": __len__, "__getitem__": __getitem__}
        body["__getitems__"] = __getitems__
        body |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
        _MADE[kind] = type(kind.__name__, (kind,), body)
    return _MADE[kind]


def _read_batch(data: Any, indices: list[Any]) -> list[Any]:
    """Return the items of a batch: each label, and an image that stands for others."""
    items = [data[index] for index in indices[:READ_OF_BATCH]]
    rest = indices[READ_OF_BATCH:]
    change = getattr(data, "target_transform", None)
    separate = type(data.transforms).__name__ in ("StandardTransform", "NoneType")
    if not rest or not separate or not _has_equal_images(items):
        return items + [data[index] for index in rest]
    images, length = data._absent
    for place, index in enumerate(rest):
        if not -length <= int(index) < length:
            raise IndexError(index)
        target = int(index) % images.classes
        target = target if change is None else change(target)
        items.append((items[place % READ_OF_BATCH][0], target))
    return items


def _has_equal_images(items: list[Any]) -> bool:
    """Return whether the images of items have one shape and dtype."""
    kinds = {
        (type(image), getattr(image, "shape", None), getattr(image, "dtype", None))
        for image, _ in items
    }
    return len(kinds) == 1
