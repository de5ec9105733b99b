"""Recording of module calls by replacing `nn.Module._call_impl` during a run.

A scripted or traced module has no Python code inside: it is recorded as one opaque op.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from shapewright.engine import nests
from shapewright.engine.dispatch.results import convert_for_record
from shapewright.engine.identity import Info
from shapewright.engine.memo import OPAQUE, Answer
from shapewright.engine.nests import copy_nest
from shapewright.engine.replacement import copy_attributes
from shapewright.engine.tracers import FEW, Real

if TYPE_CHECKING:
    from shapewright.engine.call_sites import Site
    from shapewright.engine.engine import Engine


class RunningCall:
    """A running or finished call of a module; becomes a `ModuleCall` later."""

    __slots__ = (
        "depth",
        "end",
        "first",
        "index",
        "inputs",
        "key",
        "method",
        "name",
        "notes",
        "number",
        "output",
        "parent",
        "path",
        "site",
    )  # fmt: skip

    def __init__(
        self,
        index: int,
        path: str,
        name: str,
        number: int,
        parent: int | None,
        depth: int,
        site: Site,
        first: int,
        inputs: Any,
    ) -> None:
        self.index = index
        self.path = path
        self.name = name
        self.number = number
        self.parent = parent
        self.depth = depth
        self.site = site
        self.first = first
        self.end = first
        self.inputs = inputs
        self.output: Any = None
        self.notes: tuple[str, ...] = ()
        self.method = "forward"
        self.key = 0


class Calls:
    """The module calls of one run, in the order in which they began."""

    def __init__(self, engine: Engine, modules: list[tuple[str, nn.Module]]) -> None:
        self.engine = engine
        self.records: list[RunningCall] = []
        self.paths: dict[int, str] = {}
        self.alive: dict[int, nn.Module] = {}
        self.counts: dict[int, int] = {}
        self.taken: dict[str, int] = {}
        self.progress: Callable[[str], None] | None = None
        self.ended: Callable[[RunningCall, Any], None] | None = None
        for path, module in modules:
            self.paths[id(module)] = path
            self.alive[id(module)] = module

    def path_of(self, module: nn.Module) -> str:
        """Return a module's path in the root; a module outside it gets a new name."""
        path = self.paths.get(id(module))
        if path is None:
            name = type(module).__name__
            seen = self.taken.get(name, 0)
            self.taken[name] = seen + 1
            path = name if seen == 0 else f"{name}_{seen}"
            for inner, child in module.named_modules():
                full = f"{path}.{inner}" if inner else path
                self.paths.setdefault(id(child), full)
                self.alive[id(child)] = child
            path = self.paths[id(module)]
        return path

    def begin(
        self, path: str, name: str, key: int, site: Site, args: Any, kwargs: Any
    ) -> RunningCall:
        """Begin a call, to which all ops until `end` belong."""
        engine = self.engine
        records = self.records
        number = self.counts[key] = self.counts.get(key, 0) + 1
        index = len(records)
        parent = engine.call if index else None
        depth = records[parent].depth + 1 if parent is not None else 0
        look = engine.info
        positional = tuple(
            [getattr(v, "_sw", None) or copy_nest(v, look) for v in args]
        )
        named = {name: copy_nest(v, look) for name, v in kwargs.items()}
        first = len(engine.events)
        inputs = positional, named
        call = RunningCall(
            index, path, name, number, parent, depth, site, first, inputs
        )
        call.key = key
        records.append(call)
        engine.enter(index)
        return call

    def end(self, call: RunningCall) -> None:
        """End a call that has returned or failed."""
        self.engine.enter(call.parent or 0)
        call.end = len(self.engine.events)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Record every module call in this thread.

        `_call_impl` is replaced rather than `__call__`: that one is a slot, and to
        replace it takes milliseconds where a library has defined thousands of modules.
        """
        original = nn.Module._call_impl
        replacement = copy_attributes(_make_watcher(self, original), original)
        self.engine.sites.bound(replacement.__code__)
        nn.Module._call_impl = replacement  # type: ignore[method-assign]
        try:
            yield
        finally:
            if nn.Module._call_impl is replacement:
                nn.Module._call_impl = original  # type: ignore[method-assign]


def _make_watcher(calls: Calls, original: Callable[..., Any]) -> Any:
    """Return the function that replaces `nn.Module._call_impl`."""
    engine = calls.engine
    thread = get_ident()
    here = engine.sites.here
    look = engine.info
    paths = calls.paths
    script = torch.jit.ScriptModule
    progress = calls.progress
    begin = calls.begin
    events = engine.events

    def _call_impl(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if get_ident() != thread or not engine.recording:
            return original(module, *args, **kwargs)
        kind = type(module)
        path = paths.get(id(module))
        if path is None:
            path = calls.path_of(module)
        if progress is not None:
            progress(path)
        call = begin(path, kind.__name__, id(module), here(), args, kwargs)
        try:
            if isinstance(module, script):
                out = _run_scripted(engine, call, module, original, args, kwargs)
            else:
                out = original(module, *args, **kwargs)
        except Exception as error:  # the program's `forward`
            if engine.failures is None or error is engine.error:
                raise
            from shapewright.engine.failures import continuation

            if not continuation.is_own(module, error):
                raise
            engine.enter(call.index)
            out = continuation.answer_refused_layer(
                engine, module, original, args, kwargs, error
            )
        finally:
            engine.enter(call.parent or 0)
            call.end = len(events)
        call.output = getattr(out, "_sw", None) or copy_nest(out, look)
        if calls.ended is not None:
            calls.ended(call, out)
        return out

    return _call_impl


class _Below(TorchDispatchMode):
    """Counts a scripted module's kernels; runs them without data unless `real`."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.engine = engine
        self.kernels: dict[str, int] = {}
        self.real = False  # the module computes on real tensors

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func is torch.ops.aten.equal.default:  # of constants, to join equal ones
            return args[0] is args[1] or (type(args[0]) is int and args[0] == args[1])
        name = str(func._overloadpacket)
        self.kernels[name] = self.kernels.get(name, 0) + 1
        tensors = nests.collect_tensors((args, kwargs or {}))
        if self.real or (tensors and all(map(_is_number, tensors))):
            return func(*args, **(kwargs or {}))
        physical = nests.replace_devices(
            nests.swap_tensors((args, kwargs or {}), self.engine.blank_of)
        )
        return func(*physical[0], **physical[1])


def _is_number(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is a whole number that scripted code computes with: it
    makes tensors of sizes, and sizes of them again.
    """
    with torch._C.DisableTorchFunction():
        return not (tensor.is_meta or tensor.dim() or tensor.is_floating_point())


def _run_scripted(
    engine: Engine,
    call: RunningCall,
    module: torch.nn.Module,
    original: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Run a scripted module on data-free tensors and record it as one op."""
    tensors = nests.collect_tensors((args, kwargs))
    infos = [engine.info(value) for value in tensors]
    below = _Below(engine)
    try:
        out = _run_without_data(engine, below, module, original, args, kwargs)
    except Exception as error:  # the program's `forward`
        engine.raised(error)
        raise
    outs: list[Info] = []

    def look(value: torch.Tensor) -> torch.Tensor:
        if not hasattr(value, "_sw"):
            with torch._C.DisableTorchFunction():
                engine.tell(value, engine.first_sight(value))
        outs.append(engine.info(value))
        return value

    out = nests.swap_tensors(out, look)
    kernels = ", ".join(f"{n} x {c}" if c > 1 else n for n, c in below.kernels.items())
    call.notes = ("scripted: seen from outside only",)
    answer = Answer(
        type(module).__name__,
        convert_for_record(engine, args, kwargs),
        OPAQUE,
        tuple(info.meta for info in outs),
        notes=(f"kernels: {kernels}",),
    )
    engine.record(answer, infos, tuple(outs))
    return out


def _run_without_data(
    engine: Engine,
    below: _Below,
    module: torch.nn.Module,
    original: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Run a scripted module on data-free tensors and return its outputs.

    Code that checks devices above the kernels (`lstm`) meets real weights there: then
    a copy of the module computes on real tensors, if these are small.
    """
    with torch._C.DisableTorchFunction():
        physical = nests.swap_tensors((args, kwargs), engine.blank_of)
        try:
            with below:
                return original(module, *physical[0], **physical[1])
        except RuntimeError as error:
            sizes = [tensor.numel() for tensor in nests.collect_tensors(physical)]
            if "same device" not in str(error) or sum(sizes) > FEW:
                raise
        below.kernels.clear()
        below.real = True
        real = Real(engine).of((args, kwargs))
        with torch.random.fork_rng(devices=()), below:
            out = original(copy.deepcopy(module), *real[0], **real[1])
        return nests.swap_tensors(out, _drop_data)


def _drop_data(tensor: torch.Tensor) -> torch.Tensor:
    """Remove the data of a tensor, as its values are meaningless."""
    return tensor.detach().to("meta").requires_grad_(tensor.requires_grad)
