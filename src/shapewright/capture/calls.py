"""Module calls: `nn.Module._call_impl` is replaced for the time of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.capture.nests import snapshot
from shapewright.capture.replacement import resemble

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine
    from shapewright.capture.sites import Site


class Call:
    """One running or finished call of a module; folded into a `ModuleCall` later."""

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
        self.records: list[Call] = []
        self.paths: dict[int, str] = {}
        self.alive: dict[int, nn.Module] = {}
        self.counts: dict[int, int] = {}
        self.taken: dict[str, int] = {}
        self.progress: Callable[[str], None] | None = None
        self.ended: Callable[[Call, Any], None] | None = None
        for path, module in modules:
            self.paths[id(module)] = path
            self.alive[id(module)] = module

    def path_of(self, module: nn.Module) -> str:
        """The module's path in the root; a name of its own for a stranger."""
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
    ) -> Call:
        """Open a call: everything until `end` belongs to it."""
        engine = self.engine
        records = self.records
        number = self.counts[key] = self.counts.get(key, 0) + 1
        index = len(records)
        parent = engine.call if index else None
        depth = records[parent].depth + 1 if parent is not None else 0
        look = engine.info
        given = tuple([getattr(v, "_sw", None) or snapshot(v, look) for v in args])
        named = {name: snapshot(v, look) for name, v in kwargs.items()}
        first = len(engine.events)
        inputs = given, named
        call = Call(index, path, name, number, parent, depth, site, first, inputs)
        call.key = key
        records.append(call)
        engine.call = index
        return call

    def end(self, call: Call) -> None:
        """Close a call, returned or failed."""
        self.engine.call = call.parent or 0
        call.end = len(self.engine.events)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """torch tells us of every module call in this thread.

        `_call_impl` is replaced rather than `__call__`: that one is a slot, and to
        replace it takes milliseconds where a library has defined thousands of modules.
        """
        original = nn.Module._call_impl
        replacement = resemble(watcher(self, original), original)
        self.engine.sites.bound(replacement.__code__)
        nn.Module._call_impl = replacement  # type: ignore[method-assign]
        try:
            yield
        finally:
            if nn.Module._call_impl is replacement:
                nn.Module._call_impl = original  # type: ignore[method-assign]


def watcher(calls: Calls, original: Callable[..., Any]) -> Any:
    """The replacement of `nn.Module._call_impl`."""
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
                from shapewright.capture import scripted

                out = scripted.run(engine, call, module, original, args, kwargs)
            else:
                out = original(module, *args, **kwargs)
        except Exception as error:
            if engine.failures is None or error is engine.error:
                raise
            from shapewright.capture.failing import layers

            if not layers.is_own(module, error):
                raise
            engine.call = call.index
            out = layers.refused(engine, module, original, args, kwargs, error)
        finally:
            engine.call = call.parent or 0
            call.end = len(events)
        call.output = getattr(out, "_sw", None) or snapshot(out, look)
        if calls.ended is not None:
            calls.ended(call, out)
        return out

    return _call_impl
