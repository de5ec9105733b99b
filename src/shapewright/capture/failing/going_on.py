"""A run that goes on after a call that torch refuses.

The call's needs say what would have come out had the side that decides been right;
where none are written down, a change of one argument is looked for with which torch
takes the call. The run goes on with that, and the next error is found in the same run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch

from shapewright.capture import nests
from shapewright.capture.failing.arguments import argument_names
from shapewright.capture.failing.handled import is_handled
from shapewright.capture.failing.repairing import repairs
from shapewright.capture.identity import BLANK, DTYPES, Info, Storage, contiguous_stride
from shapewright.capture.memo import NEW, Answer
from shapewright.capture.names import plain_name
from shapewright.capture.ruled import _intern_made
from shapewright.capture.ruling import needs_of
from shapewright.capture.settling import arguments_of
from shapewright.capture.sites import TORCH, Site
from shapewright.rules.meta import Made
from shapewright.rules.needs.failure import Failure, Repair
from shapewright.rules.needs.registry import unmet

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine
    from shapewright.capture.planning import Plan

Tensor = torch.Tensor
MOST = 200
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
            del engine.events[before:]
            call = Refused(func, plain_name(func), args, kwargs or {}, error, plan)
            return passed(engine, call, needs_of(func), engine.sites.here())

    return answered


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that torch refused, and how to try it again."""

    func: Any
    name: str
    args: Any
    kwargs: Any
    error: Exception
    plan: Any
    numbers: tuple[int, ...] = ()


def refused_layer(
    engine: Engine, module: Any, original: Any, args: Any, kwargs: Any, error: Exception
) -> Any:
    """What a layer of torch gives that refused its input before any operator ran."""
    if engine.failures is None or error is engine.error or not torchs_own(error):
        raise error
    kind = type(module)
    if not getattr(kind.forward, "__module__", "").startswith("torch."):
        raise error

    def plan(_: Engine, __: Any, given: Any, named: Any) -> Any:
        return original(module, *given, **named)

    need = layer_needs(module)
    name = kind.__name__
    sizes = tuple(settings_of(module))
    call = Refused(f"nn.{name}", name, args, kwargs, error, plan, sizes)
    return passed(engine, call, need, ())


def settings_of(module: Any) -> Iterator[int]:
    """Whole numbers among a layer's settings."""
    for value in vars(module).values():
        each = value if isinstance(value, tuple) else (value,)
        yield from (item for item in each if type(item) is int)


def torchs_own(error: Exception) -> bool:
    """Whether torch's Python code raised it, not the program's."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    return where is not None and where.tb_frame.f_code.co_filename.startswith(TORCH)


def layer_needs(module: Any) -> Any:
    """The needs of a layer's class, told its settings."""
    import shapewright.rules.needs.all  # noqa: F401
    from shapewright.rules.needs.registry import LAYERS

    need = LAYERS.get(type(module).__name__)
    plain = {
        name: value
        for name, value in vars(module).items()
        if type(value) in (int, float, bool, str, tuple, type(None))
    }
    return None if need is None else partial(need, plain)


def passed(engine: Engine, call: Refused, need: Any, site: Site) -> Any:
    """Note the failure, and what the run goes on with; raise where that is nothing."""
    failures, error = engine.failures, call.error
    assert failures is not None
    if is_handled(error, sys._getframe(2), engine.sites) or len(failures) >= MOST:
        raise error
    func, args, kwargs = call.func, call.args, call.kwargs
    tensors = nests.tensors((args, kwargs))
    infos = tuple(engine.info(tensor) for tensor in tensors)
    arguments = arguments_of(engine, args, kwargs)
    needed = unmet(need, *arguments)
    search = repairs(engine, call.plan, func, args, kwargs, call.numbers, engine.quick)
    if not engine.quick:
        found = list(search)
    elif needed is not None and needed.makes:
        found = []
    else:
        found = list(islice(search, 1))
    out: Any = None
    guessed: tuple[int, ...] = ()
    if needed is not None and needed.makes:
        out = made_of(engine, needed.makes, infos)
        if needed.guessed:
            guessed = tuple({size for made in needed.makes for size in made.shape})
    elif found:
        out, guessed = chosen(engine, found)
    goes_on = out is not None
    if goes_on and tensors and is_in_place(call.name, kwargs):
        out = tensors[0]
    outs = tuple(engine.info(tensor) for tensor in nests.tensors((out,)))
    answer = Answer(func, arguments, NEW, notes=(f"torch refuses: {error}",))
    failures.append(
        Failure(
            len(engine.events),
            type(error).__name__,
            str(error),
            argument_names(func, need, *arguments),
            needed,
            tuple(repair for repair, _ in found),
            goes_on,
            guessed,
        )
    )
    engine.events.append((answer, infos, outs, site, engine.call))
    if not goes_on:
        raise error
    engine.error = None
    return joined(engine, out, tensors) if engine.graph else out


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
        meta = _intern_made(engine, each, device, grad and floating)
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


class Joined(torch.autograd.Function):
    """Hangs a substitute on its inputs, so that backward finds its way."""

    @staticmethod
    def forward(context: Any, made: list[Tensor], *inputs: Tensor) -> Tensor:
        context.like = [(t.shape, t.dtype, t.requires_grad) for t in inputs]
        return made[0].detach()

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        return None, *(
            torch.empty(shape, dtype=dtype, device="meta") if wanted else None
            for shape, dtype, wanted in context.like
        )


def joined(engine: Engine, out: Any, tensors: list[Tensor]) -> Any:
    """What comes out, with a node that leads to what went in."""
    blanks = [engine.blank_of(tensor) for tensor in tensors]

    def with_node(tensor: Tensor) -> Tensor:
        info = engine.info(tensor)
        if tensor.dtype.is_floating_point and any(b.requires_grad for b in blanks):
            function: Any = Joined.apply
            tied = function([tensor], *blanks)
            same = Info(info.meta, info.storage, BLANK, info.grad_fn, info.number)
            return engine.tell(tied, same)
        return tensor

    if any(out is tensor for tensor in tensors):
        return out
    return nests.swap(out, with_node)
