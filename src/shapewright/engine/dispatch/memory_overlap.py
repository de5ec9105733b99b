"""Checks for writes to overlapping elements or to memory that an operand reads.

torch refuses most of them (`assert_no_internal_overlap`, `assert_no_partial_overlap`,
`assert_no_overlap` of ATen/MemoryOverlap.cpp), but not every kernel asks, and data-free
kernels ask less. Which function asks what was found by trial on real CPU tensors
(`overlap_checks.json`, made by `tests/zoo`). A call that may be refused, where no trial
tells, goes on with an assumption. Only calls that write come here.
"""

from __future__ import annotations

import json
from importlib.resources import files
from math import prod
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import nests
from shapewright.engine.dispatch.results import (
    convert_for_record,
    is_in_place,
    record_failure,
)
from shapewright.engine.function_names import get_display_name
from shapewright.engine.identity import Info, Meta
from shapewright.sizes.strides import is_dense

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Asked = tuple[str, tuple[str, ...]]
"""The checks of a written tensor: for overlap with itself (`yes`, `no`, `maybe`), and
with each operand (`any` overlap, a `partial` one, `no`, `maybe`); the last item also
holds for all further operands."""

UNTRIED: Asked = ("maybe", ("maybe",))
ITSELF = (
    "unsupported operation: more than one element of the written-to tensor refers to a "
    "single memory location. Please clone() the tensor before performing the operation."
)
OPERAND = (
    "unsupported operation: some elements of the input tensor and the written-to "
    "tensor refer to a single memory location. Please clone() the tensor before "
    "performing the operation."
)
REFUSED = {("partial", "partial"), ("partial", "any"), ("full", "any")}
_asked: dict[str, dict[Any, list[Asked]]] = {}


def check_overlap(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> None:
    """Raise torch's error if a written tensor overlaps itself or an operand."""
    out = kwargs.get("out")
    if out is not None:
        rest = {key: value for key, value in kwargs.items() if key != "out"}
        written = [engine.info(tensor) for tensor in nests.collect_tensors(out)]
        read = [engine.info(tensor) for tensor in nests.collect_tensors((args, rest))]
        form = "out"
    elif infos and is_in_place(name, kwargs):
        written, read = infos[:1], infos[1:]
        form = "in place" if read else "alone"
    else:
        return
    for place, target in enumerate(written):
        overlaps = target.meta.layout == "strided" and _can_overlap(target, read)
        if not overlaps:
            continue
        asked = _find_checks(func, form)
        _check_written(
            engine, func, (args, kwargs), infos, target, read,
            asked[min(place, len(asked) - 1)],
        )  # fmt: skip


def _can_overlap(target: Info, read: list[Info]) -> bool:
    """Return whether the written tensor can overlap itself or an operand."""
    return any(info.storage is target.storage for info in read) or is_expanded(
        target.meta
    )


def _check_written(
    engine: Engine,
    func: Any,
    call: tuple[Args, Kwargs],
    infos: list[Info],
    target: Info,
    read: list[Info],
    asked: Asked,
) -> None:
    """Check a written tensor as the kernel does; raise or note an assumption."""
    itself, operands = asked
    words = ""
    unsure = False
    if is_expanded(target.meta):
        words = ITSELF if itself == "yes" else ""
        unsure = itself == "maybe"
    for place, info in enumerate(read):
        if words or info.storage is not target.storage:
            continue
        status = find_overlap(target, info)
        word = operands[min(place, len(operands) - 1)] if operands else "maybe"
        if (status, word) in REFUSED:
            words = OPERAND
        unsure = unsure or (word == "maybe" and status in ("partial", "full"))
    if words:
        arguments = convert_for_record(engine, *call)
        error = RuntimeError(words)
        engine.raise_theirs(record_failure(engine, func, arguments, infos, error))
    if unsure:
        engine.assume(
            f"`{get_display_name(func)}` writes into memory that it also reads; torch "
            "is assumed to accept it"
        )


def is_expanded(meta: Meta) -> bool:
    """Return whether elements certainly share memory (`has_internal_overlap`).

    Example: `x.expand(3, 4)` of a (4,) tensor; windows that overlap are not looked for.
    """
    shape, stride = meta.shape, meta.stride
    if 0 not in stride or 0 in shape:
        return False
    if is_dense(shape, stride):
        return False
    return any(step == 0 and size > 1 for size, step in zip(shape, stride, strict=True))


def find_overlap(first: Info, second: Info) -> str:
    """Return the overlap in a storage: `full`, `partial`, `no` or `unclear`.

    As torch's `get_overlap_status`, which looks at dense tensors only.
    """
    if first is second:
        return "full"
    a, b = first.meta, second.meta
    if b.layout != "strided":
        return "unclear"
    if 0 in a.shape or 0 in b.shape:
        return "no"
    if not is_dense(a.shape, a.stride) or not is_dense(b.shape, b.stride):
        return "unclear"
    a_begin, a_end = _find_byte_range(a)
    b_begin, b_end = _find_byte_range(b)
    if a_begin == b_begin and a_end == b_end:
        return "full" if a.stride == b.stride else "partial"
    return "partial" if a_begin < b_end and b_begin < a_end else "no"


def _find_byte_range(meta: Meta) -> tuple[int, int]:
    """Return a dense tensor's first byte in its storage and the byte after its last."""
    width = meta.torch_dtype.itemsize
    begin = meta.offset * width
    return begin, begin + prod(meta.shape) * width


def check_item_assignment(
    engine: Engine, func: Any, args: tuple[Any, Any, Any], infos: list[Info]
) -> None:
    """Check `x[where] = value`: a copy into a view, or `index_put_` for tensors."""
    target, where, value = args
    info = engine.info(target)
    if not _can_overlap(info, infos[1:]) or info.meta.layout != "strided":
        return
    items = where if type(where) is tuple else (where,)
    indices = [item for item in items if isinstance(item, Tensor) and item.dim()]
    fancy = bool(indices) or any(type(item) is list for item in items)
    basic = tuple(slice(None) if _is_tensor_index(item) else item for item in items)
    try:
        view = engine.blank_of(target)[basic]
    except (IndexError, TypeError, ValueError):
        return  # torch words it
    meta = info.meta
    seen = Meta(
        tuple(view.shape), view.stride(), meta.torch_dtype, int(view.storage_offset()),
        meta.device, False, "strided",
    )  # fmt: skip
    goal = Info(seen, info.storage)
    read = [engine.info(item) for item in nests.collect_tensors(value)]
    if fancy:
        whole = [
            item for item in indices if item.dtype not in (torch.bool, torch.uint8)
        ]
        if not whole and read and not read[0].meta.shape:
            return  # masked_fill_
        read += [engine.info(item) for item in whole]
        asked: Asked = ("no", ("any",))
    else:
        read = [
            item
            for item in read
            if _drop_leading_ones(item.meta.shape) == _drop_leading_ones(seen.shape)
        ]
        asked = ("yes", ("partial",))
    _check_written(engine, func, (args, {}), infos, goal, read, asked)


def _is_tensor_index(item: Any) -> bool:
    return type(item) is list or (isinstance(item, Tensor) and item.dim() > 0)


def _drop_leading_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without leading dims of size 1, which an assignment drops."""
    start = next((i for i, size in enumerate(shape) if size != 1), len(shape))
    return shape[start:]


def _find_checks(func: Any, form: str) -> list[Asked]:
    """Return the overlap checks of a function's kernels for each written tensor."""
    if not _asked:
        _read_checks()
    try:
        checks = _asked[form].get(func)
        if checks is None and form == "alone":
            checks = _asked["in place"].get(func)
        return checks or [UNTRIED]
    except TypeError:
        return [UNTRIED]


def _read_checks() -> None:
    text = (files("shapewright.engine.dispatch") / "overlap_checks.json").read_text()
    _asked.update({"out": {}, "in place": {}, "alone": {}})
    for name, forms in json.loads(text)["functions"].items():
        function: Any = torch
        for part in name.split(".")[1:]:
            function = getattr(function, part, None)
        if function is None:
            continue
        for form, written in forms.items():
            _asked[form][function] = [(itself, tuple(rest)) for itself, rest in written]
