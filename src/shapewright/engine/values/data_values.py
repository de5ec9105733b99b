"""Look at data of the program where they become a tensor: NaN, infinities, zeros.

Nothing is noted once a value was supposed, other than drawn, or stands for what is
absent: what an array holds from then on may be Shapewright's own.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Protocol

import torch

from shapewright.record.data_values import DataValues

LARGEST = 1 << 22
"""Elements up to which data are read: a larger array may lie on a disk."""
MOST_COLUMNS = 64
"""Columns of a table of whole numbers that are looked at one by one."""
MOST_KINDS = 8
"""Whole numbers that lie so close together are listed."""
QUANTILES = 33
SAMPLE = 1 << 13
"""Elements of a column of which the quantiles are taken."""
SAMPLE_OF_TABLE = 1 << 10
"""Such elements of each column of a table."""
DRAW = "a random draw"
"""The end of an assumption on a value that was drawn."""
PICKED = f"of rows that are picked by {DRAW}"
"""The assumption on known data of which a draw picks rows: all may be picked."""
FEWEST = 2
"""Elements from which a tensor counts as data: a single infinity is a start value."""


class _Watcher(Protocol):
    """A run, as far as what it has noted is concerned."""

    looks_at_data: bool
    assumptions: dict[tuple[str, Any], int]
    stand_ins: dict[tuple[str, Any], Any]


def describe_data(engine: _Watcher, data: torch.Tensor) -> DataValues | None:
    """Return what is remarkable in data that become a tensor, or None where they are
    not looked at; of whole numbers the largest.
    """
    if not engine.looks_at_data or engine.stand_ins or _has_supposed(engine):
        return None
    if not FEWEST <= data.numel() <= LARGEST:
        return None
    if data.is_meta or data.layout is not torch.strided or data.is_complex():
        return None
    if not data.is_floating_point():
        whole = data.dtype is not torch.bool
        least, largest = map(int, data.detach().aminmax()) if whole else (0, 1)
        columns: tuple[int, ...] = ()
        if whole and data.ndim == 2 and data.shape[1] <= MOST_COLUMNS:
            columns = tuple(data.detach().amax(0).tolist())
        return DataValues(
            data.numel(),
            highest=largest,
            columns=columns,
            quantiles=_list_quantiles(data) if whole else (),
            limits=(least, largest),
            kinds=_list_kinds(data, least, largest) if whole else (),
        )
    lowest, highest = (value.item() for value in data.detach().aminmax())
    is_finite = isfinite(lowest) and isfinite(highest)
    nans = 0 if is_finite else int(data.isnan().sum())
    infinities = 0 if is_finite else int(data.isinf().sum())
    has_zeros = not is_finite or lowest <= 0 <= highest
    zeros = int((data == 0).sum()) if has_zeros else 0
    quantiles = _list_quantiles(data) if is_finite else ()
    limits = (lowest, highest) if is_finite else None
    return DataValues(
        data.numel(),
        nans,
        infinities,
        zeros,
        quantiles=quantiles,
        column_quantiles=_list_column_quantiles(data) if is_finite else (),
        limits=limits,
    )


def _list_kinds(data: torch.Tensor, least: int, largest: int) -> tuple[int, ...]:
    """Return the distinct numbers of what has few, such as class labels, or the black
    and white of a mask.
    """
    if largest - least < MOST_KINDS:
        return tuple(map(int, data.detach().unique().tolist()))
    is_of_two = bool(((data == least) | (data == largest)).all())
    return (least, largest) if is_of_two else ()


def _has_supposed(engine: _Watcher) -> bool:
    """Return whether a value was supposed; a draw is one that a real run may have."""
    return any(not words.endswith(DRAW) for words, _ in engine.assumptions)


def _list_column_quantiles(data: torch.Tensor) -> tuple[tuple[float, ...], ...]:
    """Return some elements of each column of a table from the lowest to the highest."""
    if data.ndim != 2 or not 2 <= data.shape[1] <= MOST_COLUMNS:
        return ()
    if data.shape[0] < QUANTILES:
        return ()
    rows = data.detach()[:: 1 + data.shape[0] // SAMPLE_OF_TABLE]
    ordered = rows.sort(0).values
    picks = torch.linspace(0, ordered.shape[0] - 1, QUANTILES).long()
    columns: list[list[float]] = ordered[picks].t().tolist()
    return tuple(map(tuple, columns))


def _list_quantiles(data: torch.Tensor) -> tuple[float, ...]:
    """Return some elements of a column of numbers from the lowest to the highest; none
    of what has several columns.
    """
    if data.numel() < QUANTILES or data.ndim > 2 or data.shape[1:] not in ((), (1,)):
        return ()
    column = data.detach().flatten()
    ordered = column[:: 1 + column.numel() // SAMPLE].sort().values
    picks = torch.linspace(0, ordered.numel() - 1, QUANTILES).long()
    values: list[float] = ordered[picks].tolist()
    return tuple(values)
