"""Labels of the samples that a program trains on and of those that it evaluates: data
that lie one class after the other, read in that order or cut into two parts.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    SequentialSampler,
    Subset,
    TensorDataset,
)

from shapewright.engine import nests

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

LABELS = re.compile(r"_*(ys?|(all_)?(labels?|targets?|class(es)?|cls|tags?)(_ids?)?)")
"""Names of attributes and columns that hold the label of each sample."""
ITEMS = re.compile(r"_*(samples|items|files|data|records|pairs|entries|imgs|images)")
"""Names of attributes that hold a tuple for each sample, its label last."""
WHOLE = frozenset({"int64", "int32", "int16", "int8", "uint8", "bool"})
MOST_SAMPLES = 1 << 18
MOST_CLASSES = 200
MOST_BATCHES = 64
LEAST_BATCHES = 3
FEWEST = 8
"""Samples of each batch, at least, for one class in all of them to be no chance."""
LEAST_SAMPLES = 16
"""Samples of a part, at least, for the classes in it to say anything."""
BY_CHANCE = 1e-6
FEWEST_SAMPLES = 2
"""Samples of a batch, at least, for one class in it to say anything."""
DEEPEST = 4
"""Data sets within data sets that are looked into."""


class SeenLabels:
    """The labels of the batches of a pass over a loader."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.is_known = True

    def add(self, engine: Engine, batch: Any, length: int) -> None:
        """Note the labels of a batch: the only vector of whole numbers in it."""
        known = [_read_labels(engine, t) for t in nests.collect_tensors((batch,))]
        vectors = [labels for labels in known if labels is not None]
        self.is_known &= len(vectors) == 1 and len(vectors[0]) == length
        if self.is_known and len(self.batches) < MOST_BATCHES:
            self.batches += vectors

    @property
    def classes(self) -> frozenset[int]:
        """Return the classes of all batches, empty where some are not known."""
        if not self.is_known:
            return frozenset()
        return frozenset(itertools.chain.from_iterable(self.batches))

    @property
    def samples(self) -> int:
        """Return the number of samples."""
        return sum(map(len, self.batches))

    def describe_order(self) -> str | None:
        """Return how many classes there were where each batch holds one, else None."""
        is_single = all(
            len(labels) >= FEWEST and len({*labels}) == 1 for labels in self.batches
        )
        if not self.is_known or not is_single or len(self.batches) < LEAST_BATCHES:
            return None
        return (
            f"{len(self.batches)} {len(self.classes)}"
            if len(self.classes) > 1
            else None
        )

    def lacks(self, trained: SeenLabels) -> bool:
        """Return whether these are of other classes than those of the training, or of
        one of them alone.
        """
        if self.samples < LEAST_SAMPLES or trained.samples < LEAST_SAMPLES:
            return False
        if len(trained.classes) < 2 or not self.classes:
            return False
        if not self.classes & trained.classes:
            return True
        labels = list(itertools.chain.from_iterable(trained.batches))
        (*others, last) = self.classes
        share = labels.count(last) / len(labels)  # the rare class may just not come
        return not others and share**self.samples < BY_CHANCE


def describe_sorted_labels(engine: Engine, batches: Any) -> str | None:
    """Return `batches of one class, batches, classes` of a pass over a loader without
    `shuffle` whose data set lies sorted by its labels; else None.
    """
    loader, plan = batches.loader, batches.plan
    if not is_in_order(loader):
        return None
    try:
        labels = _list_labels(engine, loader.dataset)
    except Exception:  # of the program's own objects, which may be anything
        return None
    if labels is None or not 1 < len(set(labels)) <= MOST_CLASSES:
        return None
    runs = 1 + sum(label != after for label, after in itertools.pairwise(labels))
    classes = len(set(labels))
    if runs != classes:
        return None
    single = sum(
        len(picks) >= FEWEST_SAMPLES and len({labels[pick] for pick in picks}) == 1
        for picks in plan
    )
    if 2 * single < len(plan) or single < classes:
        return None
    return f"{single} {len(plan)} {classes}"


def describe_numbered_classes(dataset: Any, depth: int = 0) -> str | None:
    """Return `class names` of a data set that numbers its classes in the order of their
    text, where they are numbers themselves and have another order; else None.

    Example: ``ImageFolder 1,10,11,2,3``.
    """
    if depth > DEEPEST:
        return None
    if isinstance(dataset, Subset):
        return describe_numbered_classes(dataset.dataset, depth + 1)
    if isinstance(dataset, ConcatDataset):
        return describe_numbered_classes(dataset.datasets[0], depth + 1)
    held: dict[str, Any] = getattr(dataset, "__dict__", {})
    numbers = held.get("class_to_idx")
    if not isinstance(numbers, dict) or not 1 < len(numbers) <= MOST_CLASSES:
        return None
    if not all(isinstance(name, str) and name.isdecimal() for name in numbers):
        return None
    names = sorted(numbers)
    is_by_text = [numbers[name] for name in names] == list(range(len(names)))
    if not is_by_text or names == sorted(names, key=int):
        return None
    return f"{type(dataset).__name__} {','.join(names)}"


def is_in_order(loader: Any) -> bool:
    """Return whether a loader reads the samples as they are stored."""
    batches = loader.batch_sampler
    return type(batches) is BatchSampler and type(batches.sampler) is SequentialSampler


def _list_labels(engine: Engine, dataset: Any, depth: int = 0) -> list[Any] | None:
    """Return the label of each sample of a data set, where they are known."""
    if depth > DEEPEST:
        return None
    if isinstance(dataset, Subset):
        whole = _list_labels(engine, dataset.dataset, depth + 1)
        picks = _read_labels(engine, dataset.indices)
        if whole is None or picks is None:
            return None
        return [whole[pick] for pick in picks]
    if isinstance(dataset, ConcatDataset):
        parts = [_list_labels(engine, part, depth + 1) for part in dataset.datasets]
        known = [part for part in parts if part is not None]
        whole = list(itertools.chain.from_iterable(known))
        return whole if len(known) == len(parts) else None
    if isinstance(dataset, TensorDataset):
        return _read_labels(engine, dataset.tensors[-1])
    try:
        size = len(dataset)
    except Exception:  # the program's `__len__`
        return None
    for values in _list_candidates(dataset):
        labels = _read_labels(engine, values)
        if labels is not None and len(labels) == size:
            return labels
    return None


def _list_candidates(dataset: Any) -> list[Any]:
    """Return what a data set holds under the name of labels."""
    held: dict[str, Any] = dict(getattr(dataset, "__dict__", {}))
    named = [value for name, value in held.items() if LABELS.fullmatch(name)]
    for value in held.values():
        columns = getattr(value, "columns", None)
        if columns is not None and hasattr(value, "iloc"):
            names = [name for name in columns if LABELS.fullmatch(str(name).lower())]
            named += [value[name].tolist() for name in names]
    for name, value in held.items():
        items = value if ITEMS.fullmatch(name) and isinstance(value, list) else []
        if items and all(isinstance(i, tuple) and len(i) > 1 for i in items):
            named.append([item[-1] for item in items])
    return named


def _read_labels(engine: Engine, values: Any) -> list[Any] | None:
    """Return the known whole numbers or texts of a vector, or None."""
    if isinstance(values, torch.Tensor):
        with torch._C.DisableTorchFunction():
            info = engine.info(values)
            storage, meta = info.storage, info.meta
            is_known = storage.known and not storage.assumed
            is_vector = len(meta.shape) == 1 and meta.shape[0] <= MOST_SAMPLES
            if not is_known or not is_vector:
                return None
            numbers: list[Any] = engine.value_of(values).tolist()
            is_label = meta.dtype in WHOLE or set(numbers) <= {0, 1}
            return [int(number) for number in numbers] if is_label else None
    if hasattr(values, "tolist") and getattr(values, "ndim", 1) == 1:
        values = values.tolist()
    is_vector = isinstance(values, Sequence) and not isinstance(values, str)
    if not is_vector or len(values) > MOST_SAMPLES:
        return None
    if not all(isinstance(value, int | str) for value in values):
        return None
    return list(values)
