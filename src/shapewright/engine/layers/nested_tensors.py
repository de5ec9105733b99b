"""Nested tensors: those that an encoder derives from a padding mask; others fail.

A tensor with `layout=torch.jagged` has a symbolic size (torch's `NestedInt`), which
neither our records nor our arithmetic can hold; it ended the process. A strided one has
no form without data: the first layer that received it raised "NestedTensorImpl doesn't
support sizes", which is not the program's error. Both are refused where the program
creates them or, if created before the run, at the first call that cannot take them.

In evaluation torch cuts each sample to its length, runs the layers on these, and pads
the output to the size of the input. The program, its hooks for instance, gets a
nested tensor, with torch's own answers for its sizes. Its layers are answered by
the padded batch, stored as an attribute of it: the same shapes, with the padding.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import nests
from shapewright.engine.dispatch.ordinary_calls import call_op
from shapewright.engine.dispatch.results import (
    convert_for_record,
    get_versions,
    record_failure,
    record_results,
)
from shapewright.engine.function_names import get_display_name, get_plain_name
from shapewright.engine.identity import BLANK, Info, Meta, count_elements
from shapewright.engine.private import INNER_NESTED_MAKERS, make_nested
from shapewright.engine.replacement import replace_attribute
from shapewright.engine.values import representatives
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


MAKERS = (
    (torch.nested, "nested_tensor"),
    (torch.nested, "as_nested_tensor"),
    (torch.nested, "nested_tensor_from_jagged"),
    (torch.nested, "narrow"),
    (torch.nested, "masked_select"),
    *INNER_NESTED_MAKERS,
)
ADVICE = "trace the model on padded sequences with a mask instead"


PADDED = "_sw_padded"
"""The attribute of a nested tensor that holds its padded batch."""


class _NotFollowed(NotImplementedError):
    """Raised for an operation that torch supports but a data-free run cannot follow."""


def find_refusal(error: Exception, args: Any, kwargs: Any) -> Exception:
    """Return the error that replaces torch's if nested tensors are involved."""
    if isinstance(error, _NotFollowed) or not has_nested(args, kwargs):
        return error
    return _NotFollowed(
        f"shapewright does not follow nested tensors through this call: {ADVICE}"
    )


def has_nested(args: Any, kwargs: Any) -> bool:
    """Return whether an argument of the call is a nested tensor that is not followed.

    Those that torch's encoder creates from a padding mask are followed.
    """
    with torch._C.DisableTorchFunction():
        return any(
            tensor.is_nested and not hasattr(tensor, PADDED)
            for tensor in nests.collect_tensors((args, kwargs or {}))
        )


@contextmanager
def refuse_nested_tensors(engine: Engine) -> Iterator[None]:
    """Raise an error for the program's own nested tensors during a run."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(*args: Any, **kwargs: Any) -> Any:
            if get_ident() in engine.threads:
                engine.raise_theirs(
                    _NotFollowed(
                        f"shapewright does not follow nested tensors: {ADVICE}"
                    )
                )
            return original(*args, **kwargs)

        return refuse

    with ExitStack() as stack:
        for owner, name in MAKERS:
            if name in vars(owner):  # not in every torch
                stack.enter_context(replace_attribute(owner, name, make))
        yield


Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]

BY_SAMPLE = operators_with("treats_samples_alone")
"""Functions that treat samples of a nested tensor like those of a batch."""

MOST = 1 << 24
"""Maximum number of elements to allocate when torch is asked about another call."""


class _Padded:
    """The padded batch and the lengths that a nested tensor represents."""

    __slots__ = ("batch", "lengths")

    def __init__(self, batch: Tensor, lengths: list[int]) -> None:
        self.batch = batch
        self.lengths = lengths


def find_padded(tensor: Tensor) -> _Padded | None:
    """Return the padded batch that a nested tensor of the run represents, or None."""
    return getattr(tensor, PADDED, None)


def is_left_aligned(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs | None
) -> bool:
    """Answer `torch._nested_tensor_from_mask_left_aligned(src, mask)`.

    Return whether in each sample all kept elements precede the padding. An unknown mask
    is assumed to be so; the shapes are the same wherever the padding is.
    """
    answer = bool(_check_mask(engine, func, args, kwargs or {}))
    if not _is_known(engine, args[1]):
        engine.assume(
            "an unknown padding mask is assumed to pad at the ends, so that the layers "
            "get a nested tensor"
        )
        engine.chosen.add(answer)
    return answer


def cut_samples(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Tensor:
    """Run `torch._nested_tensor_from_mask(src, mask)`: cut samples to their lengths."""
    batch, mask = args[0], args[1]
    _check_mask(engine, func, args, kwargs or {})
    lengths = [int(count) for count in _find_mask_values(engine, mask).sum(1)]
    with torch.no_grad():
        blank = torch.empty(batch.shape, dtype=batch.dtype, device="meta")
    return _make_nested(
        engine, _record_result(engine, func, args, kwargs or {}, blank, NOTE), lengths
    )


NOTE = "a nested tensor, shown with its padding"


def _check_mask(engine: Engine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Run torch's checks of the mask and of the sizes of the batch."""
    sizes = args[0].shape
    real = torch.empty((*sizes[:2], *(1 for _ in sizes[2:])))
    checked_args = (real, _find_mask_values(engine, args[1]), *args[2:])
    try:
        with warnings.catch_warnings():  # that nested tensors are a prototype
            warnings.simplefilter("ignore")
            return func(*checked_args, **kwargs)
    except Exception as error:  # torch refuses
        infos = [engine.info(tensor) for tensor in args[:2]]
        arguments = convert_for_record(engine, args, kwargs)
        engine.raise_theirs(record_failure(engine, func, arguments, infos, error))


def _is_known(engine: Engine, mask: Tensor) -> bool:
    """Return whether the values are the program's, not made for the run by a spec."""
    storage = engine.info(mask).storage
    return storage.known and storage.assumed is None


def _find_mask_values(engine: Engine, mask: Tensor) -> Tensor:
    """Return a mask's values; an unknown mask pads one element of the last sample.

    With samples of equal length torch would see a batch without padding.
    """
    if _is_known(engine, mask):
        return engine.value_of(mask)
    mask_values = torch.ones(mask.shape, dtype=mask.dtype)
    if mask_values.dim() == 2 and mask_values.shape[0] > 1 and mask_values.shape[1] > 1:
        mask_values[-1, -1] = 0
    return mask_values


def pad_samples(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Run `x.to_padded_tensor(0.0, size)`, which returns the padded batch again."""
    kwargs = kwargs or {}
    nested = args[0]
    padded = find_padded(nested)
    if padded is None and engine.failures and not nested.is_nested:
        return nested  # a layer failed, and the run went on with its batch
    if padded is None:
        return call_op(engine, func, args, kwargs)
    batch_args = (padded.batch, *args[1:])
    width = padded.batch.shape[-1]
    real = make_nested(padded.lengths, 1 if width else 0, nested.dtype)
    size = kwargs.get("output_size", args[2] if len(args) > 2 else None)
    narrow = None if size is None else (*size[:-1], size[-1] - width + real.size(2))
    try:
        shape = func(real, 0.0, narrow).shape
    except Exception as error:  # torch refuses
        infos = [engine.info(padded.batch)]
        arguments = convert_for_record(engine, batch_args, kwargs)
        engine.raise_theirs(record_failure(engine, func, arguments, infos, error))
    shape = (*shape[:-1], width if size is None else size[-1])
    with torch.no_grad():
        blank = torch.empty(shape, dtype=nested.dtype, device="meta")
    return _record_result(engine, func, batch_args, kwargs, blank)


def answer_padded_call(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs, call: Any = call_op
) -> Any:
    """Answer any other call with a padded nested tensor, or return NotImplemented."""
    tensors = nests.collect_tensors((args, kwargs))
    nested = [(t, padded) for t in tensors if (padded := find_padded(t)) is not None]
    if not nested:
        return NotImplemented
    if get_plain_name(func) not in BY_SAMPLE:
        return _try_real_call(engine, func, args, kwargs)
    owners = {id(padded.batch): tensor for tensor, padded in nested}

    def batch_of(tensor: Tensor) -> Tensor:
        padded = find_padded(tensor)
        return tensor if padded is None else padded.batch

    plain = nests.swap_tensors((args, kwargs), batch_of)
    out = call(engine, func, *plain)
    first = out[0] if isinstance(out, tuple) else out
    nested_result = owners.get(id(first))
    if nested_result is None:
        nested_result = _make_nested(engine, first, nested[0][1].lengths)
    return (nested_result, *out[1:]) if isinstance(out, tuple) else nested_result


def _make_nested(engine: Engine, batch: Tensor, lengths: list[int]) -> Tensor:
    """Return the nested tensor that the program receives for a padded batch."""
    info = engine.info(batch)
    old = info.meta
    nested = make_nested(lengths, batch.shape[-1], batch.dtype)
    meta = Meta(old.shape, (), old.torch_dtype, 0, old.device, False, "nested")
    setattr(nested, PADDED, _Padded(batch, lengths))
    engine.hold_nested()
    return engine.tell(nested, Info(meta, info.storage, BLANK, None, info.number))


def _try_real_call(engine: Engine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Run the call on real tensors of these sizes; torch rejects most such calls."""
    tensors = nests.collect_tensors((args, kwargs))
    infos = [engine.info(tensor) for tensor in tensors]
    arguments = convert_for_record(engine, args, kwargs)
    if sum(count_elements(info.meta.shape) for info in infos) > MOST:
        words = (
            f"shapewright does not follow `{get_display_name(func)}` of nested tensors"
        )
        error = NotImplementedError(words)
        engine.raise_theirs(record_failure(engine, func, arguments, infos, error))

    def real(tensor: Tensor) -> Tensor:
        padded = find_padded(tensor)
        if padded is None:
            return representatives.make_stand_in(engine, tensor)
        width = padded.batch.shape[-1]
        return make_nested(padded.lengths, width, tensor.dtype).fill_(0)

    physical = nests.replace_devices(nests.swap_tensors((args, kwargs), real), "cpu")
    try:
        with torch.no_grad():
            out = func(*physical[0], **physical[1])
    except Exception as error:  # torch refuses
        engine.raise_theirs(record_failure(engine, func, arguments, infos, error))
    before = nests.collect_tensors(physical)
    out = nests.swap_tensors(
        out, lambda tensor: representatives.to_blank(tensor, before)
    )
    return record_results(
        engine,
        func,
        args,
        kwargs,
        infos,
        before,
        get_versions(before),
        out,
        known=False,
    )


def _record_result(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs, out: Tensor, note: str = ""
) -> Any:
    """Record a new data-free tensor as the result of a call."""
    infos = [engine.info(tensor) for tensor in nests.collect_tensors((args, kwargs))]
    before = [torch.empty(0) for _ in infos]
    notes = (note,) if note else ()
    return record_results(
        engine, func, args, kwargs, infos, before, [0] * len(infos), out,
        known=False, notes=notes,
    )  # fmt: skip
