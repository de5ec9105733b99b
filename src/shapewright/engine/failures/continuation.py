"""Continue a run after a call that torch, or a layer of torch, refuses.

The call's needs state the result if the argument at fault had been right. Without such
a statement, a change of a single argument is searched with which torch accepts the
call. The run continues with that result, and finds the next error in the same run.

`nn.LSTM` compares sizes before it calls anything, `nn.BatchNorm2d` counts dims. Such a
call is recorded like that of an operator, under the name of the layer's class, and the
layer runs again on valid input.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterator
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.parameter import Parameter
from torch.utils.checkpoint import _StopRecomputationError

from shapewright.engine import nests
from shapewright.engine.absence import UNFOLLOWED, NotHere
from shapewright.engine.autograd_graph import join_graph
from shapewright.engine.call_sites import TORCH, USER, Sites
from shapewright.engine.dispatch.answers import find_needs, find_rule, intern_outputs
from shapewright.engine.dispatch.results import convert_for_record, is_in_place
from shapewright.engine.failures.caught_errors import is_handled
from shapewright.engine.failures.repairs import find_repairs
from shapewright.engine.failures.token_counts import count_tokens
from shapewright.engine.failures.trials import (
    FAILED,
    as_repairs,
    convert_for_needs,
    make_fresh,
    try_granted,
)
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import (
    BLANK,
    DTYPE_NAMES,
    DTYPES,
    Info,
    Meta,
    Storage,
    compute_contiguous_stride,
)
from shapewright.engine.layers.nested_tensors import has_nested
from shapewright.engine.memo import NEW, Answer
from shapewright.engine.values.reads import answer_representative, format_tensor
from shapewright.findings.codes import INNER_DIM_MISMATCH, NORMALIZED_SHAPE
from shapewright.operators.failed_calls import (
    OF_HISTORY,
    Failure,
    Repair,
    Unmet,
    get_refusal,
)
from shapewright.operators.metadata_rules import Made
from shapewright.operators.needs_registry import Needs, unmet

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine, Plan


def _name_arguments(func: Any, need: Any, args: Any, kwargs: Any) -> tuple[str, ...]:
    """Return a name for each tensor of a call, in the order of the call."""
    rule = None if isinstance(func, str) else find_rule(func)
    for mirror in (need, rule.metadata if rule is not None else None):
        names = _bind_names(mirror, args, kwargs) if mirror is not None else None
        if names is not None:
            return names
    tensor_names = [
        name
        for at, item in enumerate(args)
        for name in _iter_tensor_names(str(at), item)
    ]
    tensor_names += [
        name for key, item in kwargs.items() for name in _iter_tensor_names(key, item)
    ]
    return tuple(tensor_names)


def _bind_names(mirror: Any, args: Any, kwargs: Any) -> tuple[str, ...] | None:
    """Return the names by a rule's signature, or None if it does not fit the call."""
    try:
        signature = inspect.signature(mirror)
        parameters = list(signature.parameters.values())
        signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    names: list[str] = []
    for at, item in enumerate(args):
        last = parameters[min(at, len(parameters) - 1)]
        name = last.name
        if last.kind is inspect.Parameter.VAR_POSITIONAL:
            name = f"{name}.{at - parameters.index(last)}"
        names += _iter_tensor_names(name, item)
    for key, item in kwargs.items():
        names += _iter_tensor_names(key, item)
    return tuple(names)


def _iter_tensor_names(name: str, value: Any) -> Iterator[str]:
    """Yield the names of the tensors in an argument."""
    if isinstance(value, Meta):
        yield name
    elif isinstance(value, tuple | list):
        for at, item in enumerate(value):
            yield from _iter_tensor_names(f"{name}.{at}", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _iter_tensor_names(f"{name}.{key}", item)


def continue_after_refusals(plan: Plan) -> Plan:
    """Wrap the plan of a function so that the run continues after rejected calls."""

    def answered(engine: Engine, func: Any, args: Any, kwargs: Any) -> Any:
        before = len(engine.events)
        try:
            return plan(engine, func, args, kwargs)
        except Exception as error:  # of the program or torch; ours is raised again
            if error is not engine.error or engine.failures is None:
                raise
            if func is torch._assert:  # which is the program's
                raise
            if isinstance(error, _StopRecomputationError):  # how a checkpoint ends
                raise
            if isinstance(error, NotHere):  # what is asked for is no refusal
                raise
            if has_nested(args, kwargs):  # which may be well on real data
                raise
            del engine.events[before:]
            engine.failures[:] = [f for f in engine.failures if f.op < before]
            rule, frame = find_needs(func), sys._getframe(1)
            return _substitute_result(
                engine, plan, func, args, kwargs or {}, error, rule, frame
            )

    return answered


def _substitute_result(
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
    """Note the failure and return a substitute result; raise if there is none."""
    failures = engine.failures
    assert failures is not None
    handled = engine.going_on.heeds and is_handled(error, frame, engine.sites)
    if handled or len(failures) >= engine.going_on.most:
        raise error
    tensors = nests.collect_tensors((args, kwargs))
    infos = tuple(engine.info(tensor) for tensor in tensors)
    arguments = convert_for_record(engine, args, kwargs)
    needed = None
    first = get_plain_name(func)
    of_history = any(words in str(error) for words in OF_HISTORY)
    if rule is not None and not of_history:
        needed = unmet(rule, *convert_for_needs(engine, args, kwargs))
    if _is_end(engine, error, frame, needed):
        raise error
    search = find_repairs(engine, plan, func, args, kwargs, more, engine.going_on.quick)
    returns_first = first != "__setitem__" and is_in_place(first, kwargs)
    of_hook = first == "backward" and len(args) < 2 and kwargs.get("gradient") is None
    if of_history or of_hook or first in WITHOUT_REPAIRS:
        search = iter(())
    names = _name_arguments(func, rule, *arguments)
    out: Any = FAILED
    guessed: tuple[int, ...] = ()
    repairs: list[tuple[Repair, Any]] = [] if engine.going_on.quick else list(search)
    if first == "__format__":
        out = format_tensor(infos[0])  # a text, whatever the tensor
    elif first == "__deepcopy__":
        out = tensors[0]
    elif first in ("numpy", "__array__"):
        out = answer_representative(engine, first, infos[0])
    elif needed is not None and needed.makes:
        out = _make_stated_results(engine, needed.makes, infos)
    elif needed is not None and rule is not None:
        out = try_granted(engine, plan, func, rule, args, kwargs, needed)
    if out is not FAILED and needed is not None:
        sizes = {size for shape in _get_shapes(engine, out) for size in shape}
        guessed = tuple(sorted(_find_unsure_sizes(names, infos, needed) & sizes))
        if needed.guessed and not guessed:
            guessed = tuple(sorted(sizes))
    else:
        repairs = repairs or list(islice(search, 1))
        if repairs:
            out, guessed = _choose_repair(engine, repairs)
        elif of_history and first in ("backward", "requires_grad"):
            out = None
        elif of_history and tensors and returns_first:
            out = tensors[0]
    if needed is not None:
        declared = [isinstance(tensor, Parameter) for tensor in tensors]
        known = as_repairs(names, infos, needed, declared)
        repairs = [(repair, None) for repair in known] + [
            pair for pair in repairs if pair[0] not in known
        ]
    goes_on = out is not FAILED
    out = out if goes_on else None
    if goes_on and tensors and returns_first:
        out = tensors[0]
    outs = tuple(engine.info(tensor) for tensor in nests.collect_tensors((out,)))
    if UNFOLLOWED.search(str(error)):
        raise error  # not the program's: the run ends with a note
    answer = Answer(func, arguments, NEW, notes=(f"torch refuses: {error}",))
    failures.append(
        Failure(
            len(engine.events),
            type(error).__name__,
            _name_real_types(engine, str(error)),
            names,
            needed,
            tuple(repair for repair, _ in repairs),
            goes_on,
            guessed,
            count_tokens(engine, needed),
        )
    )
    engine.events.append((answer, infos, outs, engine.sites.here(), engine.call))
    if not goes_on:
        raise error
    engine.raised(None)
    return join_graph(engine, out, tensors) if engine.graph else out


def _is_end(
    engine: Engine, error: Exception, frame: FrameType, needed: Unmet | None
) -> bool:
    """Return whether a failure is the one at which the run is to end."""
    gone, refusal = engine.going_on.gone, engine.going_on.refusal
    if gone is None or _find_user_line(frame, engine.sites) != gone:
        return False
    message = _name_real_types(engine, str(error))
    return not refusal or get_refusal(type(error).__name__, message, needed) == refusal


def _name_real_types(engine: Engine, message: str) -> str:
    """Return torch's message with the types that it names in a real run, by which
    people look for it: `torch.FloatTensor` for `MetaFloatType`.
    """
    place = "torch.cuda" if engine.machine == "cuda" else "torch"
    return META_TYPE.sub(lambda match: f"{place}.{match[1]}Tensor", message)


WITHOUT_REPAIRS = ("__format__", "numpy", "__array__", "__deepcopy__")
"""Calls of which no other sizes are tried: fresh tensors have no graph and no device. A
backward pass fails by sizes only if it is given a gradient, else in a hook.
"""
META_TYPE = re.compile(r"\bMeta(\w+)Type\b")
"""How torch's messages name the type of a tensor without data."""


def _find_user_line(frame: FrameType | None, sites: Sites) -> tuple[str, int]:
    """Return the file and line of the program at which a call was made."""
    while frame is not None and sites.kind_of(frame.f_code) != USER:
        frame = frame.f_back
    if frame is None:
        return "", 0
    table = list(frame.f_code.co_positions())
    line = table[frame.f_lasti // 2][0]
    return os.path.abspath(frame.f_code.co_filename), line or frame.f_lineno


def _find_unsure_sizes(
    names: tuple[str, ...], infos: tuple[Info, ...], needed: Unmet
) -> set[int]:
    """Return the sizes for which only one side of a mismatch gives evidence.

    If an operand was given another size that reappears in the output, as in a norm, the
    original size might have been the right one.
    """
    sizes: set[int] = set()
    if needed.guessed:
        sizes = {size for size in (needed.has, needed.needs) if type(size) is int}
    is_product = bool({"mat2", "other"} & set(names))
    if needed.code == INNER_DIM_MISMATCH and is_product:  # of a square matrix
        sizes |= {
            size
            for info in infos
            for size in (needed.has, needed.needs)
            if type(size) is int and info.meta.shape.count(size) > 1
        }
    for grant in needed.grants if needed.code == NORMALIZED_SHAPE else ():
        if grant.argument in names and isinstance(grant.value, Made):
            had = infos[names.index(grant.argument)].meta.shape
            pairs = zip(had, grant.value.shape, strict=False)
            sizes |= {size for a, b in pairs if a != b for size in (a, b)}
    return sizes


def _choose_repair(
    engine: Engine, repairs: list[tuple[Repair, Any]]
) -> tuple[Any, tuple[int, ...]]:
    """Return the likeliest repair's result, and the sizes that other repairs change.

    A changed size keeps the meaning of the call; parameters show what is wanted.
    """
    likely = [pair for pair in repairs if not pair[0].parameter] or repairs
    first = [pair for pair in likely if pair[0].kind in ("values", "dtype")]
    first = first or [pair for pair in likely if pair[0].kind == "contiguous"]
    first = first or [pair for pair in likely if pair[0].kind == "size"]
    first = first or likely
    out = first[0][1]
    mine = _get_shapes(engine, out)
    unsure: set[int] = set()
    others = [pair for pair in repairs if pair[0].kind == "size" and pair[0].parameter]
    for _, other in [*first[1:], *others]:
        theirs = _get_shapes(engine, other)
        for sizes, other_sizes in zip(mine, theirs, strict=False):
            if len(sizes) != len(other_sizes):
                unsure |= set(sizes)
            else:
                unsure |= {a for a, b in zip(sizes, other_sizes, strict=True) if a != b}
    return out, tuple(sorted(unsure))


def _get_shapes(engine: Engine, nest: Any) -> list[tuple[int, ...]]:
    """Return the shapes of the tensors in the result of a call."""
    return [engine.info(tensor).meta.shape for tensor in nests.collect_tensors((nest,))]


def _make_stated_results(
    engine: Engine, makes: tuple[Made, ...], infos: tuple[Info, ...]
) -> Any:
    """Return the tensors that a need specifies as the results of the call."""
    grad = torch.is_grad_enabled() and any(info.meta.requires_grad for info in infos)
    device = next((info.meta.device for info in infos), engine.home)
    tensors = []
    for output in makes:
        floating = DTYPES[output.dtype].is_floating_point
        meta = intern_outputs(engine, output, device, grad and floating)
        with torch._C.DisableTorchFunction(), torch.no_grad():
            tensor = torch.empty_strided(
                output.shape,
                output.stride or compute_contiguous_stride(output.shape),
                dtype=meta.torch_dtype,
                device="meta",
            )
        name = "ErrorBackward0" if meta.requires_grad else None
        info = Info(meta, Storage(device), BLANK, output.grad_fn or name)
        tensors.append(engine.tell(tensor, info))
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


__all__ = ["continue_after_refusals", "make_fresh"]


CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


def is_own(module: nn.Module, error: BaseException) -> bool:
    """Return whether the Python code of a torch layer itself raised the error."""
    if isinstance(module, CONTAINERS) or not isinstance(error, Exception):
        return False
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    file = where.tb_frame.f_code.co_filename if where is not None else ""
    return file.startswith(f"{TORCH}nn") and _find_torch_class(module) is not None


def _find_torch_class(module: nn.Module) -> type | None:
    """Return the nearest base class of a layer that belongs to torch."""
    return next(
        (
            kind
            for kind in type(module).__mro__
            if kind.__module__.startswith("torch.nn.") and kind is not nn.Module
        ),
        None,
    )


def answer_refused_layer(
    engine: Engine, module: nn.Module, original: Any, args: Any, kwargs: Any, error: Any
) -> Any:
    """Return the result of the layer for valid input; raise if no repair is known."""
    kind = _find_torch_class(module)
    need = with_layer(find_needs(kind), module)

    def plan(engine: Engine, func: Any, args: Any, kwargs: Any) -> Any:
        return original(module, *args, **kwargs)

    engine.raised(error)
    frame, more = sys._getframe(2), tuple(_iter_settings(module))
    return _substitute_result(
        engine, plan, kind, args, kwargs, error, need, frame, more
    )


def _iter_settings(module: nn.Module) -> Iterator[int]:
    """Yield the integers among a layer's attributes, which may be sizes."""
    for value in vars(module).values():
        values = value if isinstance(value, tuple) else (value,)
        yield from (item for item in values if type(item) is int)


def with_layer(need: Needs | None, module: nn.Module) -> Needs | None:
    """Return the need of a layer, which also receives the layer's plain attributes."""
    if need is None:
        return None
    plain = (bool, int, float, str, tuple)
    layer = {k: v for k, v in vars(module).items() if isinstance(v, plain)}
    first = next(module.parameters(recurse=False), None)
    if first is not None:
        layer["weight_dtype"] = DTYPE_NAMES[first.dtype]

    def bound(*args: Any, **kwargs: Any) -> Any:
        return need(*args, **kwargs, layer=layer)

    bound.__wrapped__ = need  # type: ignore[attr-defined]
    return bound
