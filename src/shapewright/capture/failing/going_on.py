"""A run that goes on after a call that torch refuses.

The call's needs say what would have come out had the side that decides been right;
where none are written down, a change of one argument is looked for with which torch
takes the call. The run goes on with that, and the next error is found in the same run.
"""

from __future__ import annotations

import os
import sys
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parameter import Parameter
from torch.utils.checkpoint import _StopRecomputationError

from shapewright.capture import nests
from shapewright.capture.failing.arguments import argument_names
from shapewright.capture.failing.granting import as_repairs, granted, seen_by_needs
from shapewright.capture.failing.handled import is_handled
from shapewright.capture.failing.repairing import repairs
from shapewright.capture.failing.trials import FAILED, fresh
from shapewright.capture.identity import BLANK, DTYPES, Info, Storage, contiguous_stride
from shapewright.capture.joining import joined
from shapewright.capture.memo import NEW, Answer
from shapewright.capture.names import plain_name
from shapewright.capture.nested_tensors import has_nested
from shapewright.capture.reading import described
from shapewright.capture.ruled import intern_made
from shapewright.capture.ruling import needs_of
from shapewright.capture.settling import arguments_of
from shapewright.capture.sites import USER, Sites
from shapewright.rules.meta import Made
from shapewright.rules.needs.failure import OF_HISTORY, Failure, Repair
from shapewright.rules.needs.registry import Needs, unmet
from shapewright.rules.needs.unmet import Unmet

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine
    from shapewright.capture.planning import Plan

Tensor = torch.Tensor
"""Failures that a run passes."""


def going_on(plan: Plan) -> Plan:
    """The plan of a function, whose refused calls do not end the run."""

    def answered(engine: Engine, func: Any, args: Any, kwargs: Any) -> Any:
        before = len(engine.events)
        try:
            return plan(engine, func, args, kwargs)
        except Exception as error:
            if error is not engine.error or engine.failures is None:
                raise
            if func is torch._assert:  # which is the program's
                raise
            if isinstance(error, _StopRecomputationError):  # how a checkpoint ends
                raise
            if has_nested(args, kwargs):  # which may be well on real data
                raise
            del engine.events[before:]
            engine.failures[:] = [f for f in engine.failures if f.op < before]
            rule, frame = needs_of(func), sys._getframe(1)
            return passed(engine, plan, func, args, kwargs or {}, error, rule, frame)

    return answered


def passed(
    engine: Engine,
    plan: Plan,
    func: Any,
    args: Any,
    kwargs: Any,
    error: Exception,
    rule: Needs | None,
    frame: FrameType,
    more: tuple[int, ...] = (),
) -> Any:
    """Note the failure, and what the run goes on with; raise where that is nothing."""
    failures = engine.failures
    assert failures is not None
    handled = engine.heeds and is_handled(error, frame, engine.sites)
    if handled or len(failures) >= engine.most:
        raise error
    if engine.gone is not None and user_line(frame, engine.sites) == engine.gone:
        raise error
    tensors = nests.tensors((args, kwargs))
    infos = tuple(engine.info(tensor) for tensor in tensors)
    arguments = arguments_of(engine, args, kwargs)
    needed = None
    if rule is not None:
        needed = unmet(rule, *seen_by_needs(engine, args, kwargs))
    first = plain_name(func)
    of_history = any(words in str(error) for words in OF_HISTORY)
    search = repairs(engine, plan, func, args, kwargs, more, engine.quick)
    if of_history or first == "__format__":  # fresh tensors have none
        search = iter(())
    names = argument_names(func, rule, *arguments)
    out: Any = FAILED
    guessed: tuple[int, ...] = ()
    found: list[tuple[Repair, Any]] = [] if engine.quick else list(search)
    if first == "__format__":
        out = described(infos[0])  # a text, whatever the tensor
    elif needed is not None and needed.makes:
        out = made_of(engine, needed.makes, infos)
    elif needed is not None and rule is not None:
        out = granted(engine, plan, func, rule, args, kwargs, needed)
    if out is not FAILED and needed is not None:
        sizes = {size for one in shapes_of(engine, out) for size in one}
        guessed = tuple(sorted(unsure_sizes(names, infos, needed) & sizes))
        if needed.guessed and not guessed:
            guessed = tuple(sorted(sizes))
    else:
        found = found or list(islice(search, 1))
        if found:
            out, guessed = chosen(engine, found)
        elif of_history and first == "backward":
            out = None
    if needed is not None:
        declared = [isinstance(tensor, Parameter) for tensor in tensors]
        known = as_repairs(names, infos, needed, declared)
        found = [(each, None) for each in known] + [
            pair for pair in found if pair[0] not in known
        ]
    goes_on = out is not FAILED
    out = out if goes_on else None
    if goes_on and tensors and is_in_place(first, kwargs):
        out = tensors[0]
    outs = tuple(engine.info(tensor) for tensor in nests.tensors((out,)))
    answer = Answer(func, arguments, NEW, notes=(f"torch refuses: {error}",))
    failures.append(
        Failure(
            len(engine.events),
            type(error).__name__,
            str(error),
            names,
            needed,
            tuple(repair for repair, _ in found),
            goes_on,
            guessed,
        )
    )
    engine.events.append((answer, infos, outs, engine.sites.here(), engine.call))
    if not goes_on:
        raise error
    engine.error = None
    return joined(engine, out, tensors) if engine.graph else out


def user_line(frame: FrameType | None, sites: Sites) -> tuple[str, int]:
    """The file and line of the program at which a call was made."""
    while frame is not None and sites.kind_of(frame.f_code) != USER:
        frame = frame.f_back
    if frame is None:
        return "", 0
    table = list(frame.f_code.co_positions())
    line = table[frame.f_lasti // 2][0]
    return os.path.abspath(frame.f_code.co_filename), line or frame.f_lineno


def unsure_sizes(
    names: tuple[str, ...], infos: tuple[Info, ...], needed: Unmet
) -> set[int]:
    """Sizes that only one side of a mismatch says.

    Where an operand was granted another size that comes out again, as a norm's does,
    the one that it had might have been the right one.
    """
    found: set[int] = set()
    if needed.guessed:
        found = {each for each in (needed.has, needed.needs) if type(each) is int}
    for grant in needed.grants if needed.code == "normalized-shape" else ():
        if grant.argument in names and isinstance(grant.value, Made):
            had = infos[names.index(grant.argument)].meta.shape
            pairs = zip(had, grant.value.shape, strict=False)
            found |= {size for a, b in pairs if a != b for size in (a, b)}
    return found


def is_in_place(name: str, kwargs: Any) -> bool:
    """Whether the call hands out its first tensor, written."""
    if name.startswith("__i") and name not in ("__invert__", "__index__", "__int__"):
        return True
    plain = name.endswith("_") and not name.endswith("__")
    return plain or kwargs.get("inplace") is True


def chosen(
    engine: Engine, found: list[tuple[Repair, Any]]
) -> tuple[Any, tuple[int, ...]]:
    """What the likeliest repair makes, and its sizes that another would make otherwise.

    A change of a size keeps what the call is about; parameters say what is wanted.
    """
    likely = [pair for pair in found if not pair[0].parameter] or found
    first = [pair for pair in likely if pair[0].kind in ("values", "dtype")]
    first = first or [pair for pair in likely if pair[0].kind == "contiguous"]
    first = first or [pair for pair in likely if pair[0].kind == "size"]
    first = first or likely
    out = first[0][1]
    mine = shapes_of(engine, out)
    unsure: set[int] = set()
    others = [pair for pair in found if pair[0].kind == "size" and pair[0].parameter]
    for _, other in [*first[1:], *others]:
        theirs = shapes_of(engine, other)
        for one, two in zip(mine, theirs, strict=False):
            if len(one) != len(two):
                unsure |= set(one)
            else:
                unsure |= {a for a, b in zip(one, two, strict=True) if a != b}
    return out, tuple(sorted(unsure))


def shapes_of(engine: Engine, nest: Any) -> list[tuple[int, ...]]:
    """The shapes of the tensors in what a call gives."""
    return [engine.info(tensor).meta.shape for tensor in nests.tensors((nest,))]


def made_of(engine: Engine, makes: tuple[Made, ...], infos: tuple[Info, ...]) -> Any:
    """Tensors as a need says that they come out."""
    grad = torch.is_grad_enabled() and any(info.meta.requires_grad for info in infos)
    device = next((info.meta.device for info in infos), engine.home)
    made = []
    for each in makes:
        floating = DTYPES[each.dtype].is_floating_point
        meta = intern_made(engine, each, device, grad and floating)
        with torch._C.DisableTorchFunction(), torch.no_grad():
            tensor = torch.empty_strided(
                each.shape,
                each.stride or contiguous_stride(each.shape),
                dtype=meta.torch_dtype,
                device="meta",
            )
        name = "ErrorBackward0" if meta.requires_grad else None
        info = Info(meta, Storage(device), BLANK, each.grad_fn or name)
        made.append(engine.tell(tensor, info))
    return made[0] if len(made) == 1 else tuple(made)


__all__ = ["fresh", "going_on"]
