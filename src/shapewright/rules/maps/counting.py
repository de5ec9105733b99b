"""How often elements are touched, by an index map.

Fold of columns of ones, for example, gives what `times_met` says::

    F.fold(F.unfold(torch.ones(1, 1, 5, 5), 3), (5, 5), 3)[0, 0, 2, 2] == 9
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from shapewright.rules.maps.evaluating import Tensors, sources
from shapewright.rules.maps.index_map import IndexMap

Index = tuple[int, ...]
NO_TENSORS: Mapping[str, Any] = {}


def times_read(
    drawn: IndexMap, tensor: str, tensors: Tensors = NO_TENSORS
) -> Counter[Index]:
    """How often the output reads each element of an input; those never read are absent.

    It goes through the whole output: for tensors of a size that is shown. `tensors`
    are needed where indices are values, as in a gather.
    """
    return Counter(
        at
        for index in indices(drawn)
        for name, at in sources(drawn, index, tensors)
        if name == tensor
    )


def times_met(drawn: IndexMap, tensors: Tensors = NO_TENSORS) -> dict[Index, int]:
    """How many elements meet in each element of the output: in `fold`, in a scatter."""
    return {index: len(sources(drawn, index, tensors)) for index in indices(drawn)}


def indices(drawn: IndexMap) -> Iterator[Index]:
    """The indices of the output, in row-major order."""
    return product(*map(range, drawn.shape))
