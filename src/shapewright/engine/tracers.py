"""Torch's own tracers inside a program: `torch.jit.trace`, `torch.export`, `torch.fx`.

They must trace torch's own behaviour on tensors with data: our stand-ins would become
part of the graph. So they run without our mode and patches, on a copy of the model
whose parameters are allocated for the time of the trace. A model that is traced on an
example runs once on it in our mode as well, so that its calls are recorded.
"""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.engine import nests
from shapewright.engine.identity import FROM_FILE
from shapewright.engine.memo import READ, Answer
from shapewright.engine.postponed_imports import import_compiler
from shapewright.engine.private import step_aside, suspend_modes
from shapewright.engine.replacement import replace_attribute
from shapewright.record.ops import CONSTANT_NOTE

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

TRACERS = (
    ("torch.jit", "trace"),
    ("torch.jit", "trace_module"),
    ("torch.jit", "script"),
    ("torch.export", "export"),
    ("torch.export", "draft_export"),
    ("torch.export", "export_for_training"),
)
"""Functions that trace a model on example inputs or compile its source."""

SYMBOLIC = (
    ("torch.fx", "symbolic_trace"),
    ("torch.fx._symbolic_trace", "symbolic_trace"),
)
"""Tracers that need no values: the graph holds the model's own parameters."""

MAKERS = (("torch.fx.experimental.proxy_tensor", "make_fx"),)
"""Functions that return a function that traces when called."""

FUNCTIONAL = (("torch.func", "functionalize"),)
"""Functions that return a function with the same results."""

FEW = 1 << 22
"""Largest number of elements filled with random values; larger tensors get zeros."""


@contextmanager
def keep_tracers() -> Iterator[None]:
    """Make torch's tracers work during a run or while a model is built."""
    makes = (
        (TRACERS, _wrap_tracer),
        (SYMBOLIC, _wrap_proxy_tracer),
        (MAKERS, _wrap_tracer_maker),
        (FUNCTIONAL, _wrap_transform),
    )
    with ExitStack() as stack:
        for names, make in makes:
            for module, name in names:
                owner = sys.modules.get(module)
                if owner is not None and name in vars(owner):
                    stack.enter_context(replace_attribute(owner, name, make))
        stack.enter_context(
            replace_attribute(torch.fx.Tracer, "trace", _wrap_proxy_tracer)
        )
        yield


def _find_running_engine() -> Engine | None:
    """Return the engine of the run in progress, or None.

    It may differ from the engine of the run in which a file imported a tracer by
    `from torch.jit import trace`.
    """
    from shapewright.engine.engine import Engine

    modes = torch.overrides._get_current_function_mode_stack()
    engines = [mode for mode in modes if isinstance(mode, Engine)]
    return next((e for e in reversed(engines) if get_ident() in e.threads), None)


def _wrap_tracer(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a tracer so that it runs on real tensors."""

    def trace(*args: Any, **kwargs: Any) -> Any:
        engine = _find_running_engine()
        if engine is None:
            return original(*args, **kwargs)
        if original.__module__.startswith("torch.export"):
            import_compiler()
        if engine.recording:
            _run_example(original, *args, **kwargs)
        return _trace_for_real(engine, original, args, kwargs)

    return trace


def _run_example(
    original: Callable[..., Any], func: Any = None, *args: Any, **kwargs: Any
) -> None:
    """Run a model once on the example that `torch.jit.trace` is given: what it calls
    is recorded here, and not where the traced one is called.
    """
    inputs = args[0] if args else kwargs.get("example_inputs")
    if original.__name__ != "trace" or not isinstance(func, nn.Module):
        return
    if isinstance(func, torch.jit.ScriptModule) or inputs is None:
        return
    func(*inputs) if type(inputs) in (tuple, list) else func(inputs)


def _wrap_proxy_tracer(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a tracer that creates tensors of its own kind, such as proxies."""

    def trace(*args: Any, **kwargs: Any) -> Any:
        engine = _find_running_engine()
        if engine is None:
            return original(*args, **kwargs)
        with _suspend_engine(engine):
            return engine.run(original, args, kwargs)

    return trace


def _wrap_tracer_maker(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function such as `make_fx`, whose result traces when called."""

    def make_tracing(function: Any, *args: Any, **kwargs: Any) -> Any:
        def trace(*inputs: Any, **named: Any) -> Any:
            engine = _find_running_engine()
            if engine is None:
                return traced(function, *inputs, **named)
            import_compiler()
            return _trace_for_real(engine, traced, (function, *inputs), named)

        def traced(real: Any, *inputs: Any, **words: Any) -> Any:
            return original(real, *args, **kwargs)(*inputs, **words)

        return trace

    return make_tracing


def _wrap_transform(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function such as `functionalize`: a run calls its argument directly."""

    def make_tracing(function: Any, *args: Any, **kwargs: Any) -> Any:
        def called(*inputs: Any, **named: Any) -> Any:
            if _find_running_engine() is not None:
                return function(*inputs, **named)
            return original(function, *args, **kwargs)(*inputs, **named)

        return called

    return make_tracing


def _trace_for_real(
    engine: Engine, function: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    """Run torch's tracer on copies with data, and return its result without data."""
    real = Real(engine)
    with _collect_constants() as constants:
        result = engine.run(_run_for_real, (engine, real, function, args, kwargs), {})
    infos = [engine.info(tensor) for tensor in real.parameters]
    if infos or constants:  # the program has used them
        notes = ("traced", *constants)
        engine.record(Answer(function, ((), {}), READ, notes=notes), infos, ())
    return nests.swap_tensors(result, partial(_drop_data, engine))


@contextmanager
def _collect_constants() -> Iterator[list[str]]:
    """Collect a note on each line at which `torch.jit.trace` warns that it keeps a
    number of the example; all warnings are given behind the block.
    """
    constants: list[str] = []
    caught: list[warnings.WarningMessage] = []
    shown: dict[Any, int] = {}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield constants
    finally:
        for warning in caught:
            if warning.category.__name__ == "TracerWarning":
                note = f"{CONSTANT_NOTE}{warning.filename}:{warning.lineno}"
                if note not in constants:
                    constants.append(note)
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno,
                registry=shown,
            )  # fmt: skip


def _run_for_real(
    engine: Engine, real: Real, function: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    """Run torch's tracer on copies with data, and return its result with data."""
    with _suspend_engine(engine), torch.random.fork_rng(devices=()):
        args, kwargs = real.of(args), real.of(kwargs)
        with real.in_closures(args):
            return function(*args, **kwargs)


def _drop_data(engine: Engine, tensor: torch.Tensor) -> torch.Tensor:
    """Make a tracer's result data-free, since its values are meaningless."""
    with torch._C.DisableTorchFunction():
        blank = tensor.detach().to("meta")
    engine.adopt(blank, getattr(tensor, FROM_FILE, None))
    return blank


@contextmanager
def _suspend_engine(engine: Engine) -> Iterator[None]:
    """Remove our mode and patches from torch within the block."""
    thread = get_ident()
    with ExitStack() as stack:
        for unpatched in step_aside:
            stack.enter_context(unpatched())
        stack.enter_context(suspend_modes())
        engine.threads.discard(thread)
        stack.enter_context(engine.suspend_recording())
        try:
            yield
        finally:
            engine.threads.add(thread)


class Real:
    """Copies of tensors and models with data, one copy per object."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.memo: dict[int, Any] = {}
        self.kept: list[Any] = []  # so that no id is used again
        self.parameters: list[torch.Tensor] = []  # of the models that were copied

    def of(self, value: Any) -> Any:
        """Return the copy of a tensor, of a model, or of a nested structure of them."""
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, nn.Module):
            return self.module(value)
        if isinstance(value, dict):
            return type(value)((key, self.of(item)) for key, item in value.items())
        if type(value) in (list, tuple):
            return type(value)(self.of(item) for item in value)
        owner = getattr(value, "__self__", None)
        if isinstance(owner, nn.Module) and hasattr(value, "__func__"):
            return value.__func__.__get__(self.module(owner))
        return value

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return a copy with the same metadata and known or invented values."""
        copied = self.memo.get(id(tensor))
        if copied is None:
            with torch._C.DisableTorchFunction():
                copied = self.made(tensor)
            self.memo[id(tensor)] = copied
            self.kept.append(tensor)
        return copied

    def made(self, tensor: torch.Tensor) -> torch.Tensor:
        info = self.engine.info(tensor)
        meta = info.meta
        if meta.layout != "strided":
            return tensor
        if info.storage.known:
            real = self.engine.value_of(tensor).detach().clone()
        elif not tensor.is_meta:
            real = tensor.detach().clone()
        else:
            real = torch.empty_strided(meta.shape, meta.stride, dtype=meta.torch_dtype)
            few = real.numel() <= FEW and meta.torch_dtype.is_floating_point
            real = real.uniform_(0.01, 0.1) if few else real.zero_()
        if isinstance(tensor, nn.Parameter):
            real = nn.Parameter(real, requires_grad=meta.requires_grad)
        elif meta.requires_grad:
            real.requires_grad_()
        setattr(real, FROM_FILE, meta.device)
        return real

    def module(self, module: nn.Module) -> nn.Module:
        """Return a copy of a model with all the tensors that its modules hold."""
        if isinstance(module, torch.jit.ScriptModule):
            return module
        if id(module) not in self.memo:
            self.parameters += module.parameters()
            for submodule in module.modules():
                for value in list(vars(submodule).values()):
                    nests.visit_tensors(value, self.tensor)
            self.memo[id(module)] = copy.deepcopy(module, self.memo)
            self.kept.append(module)
        return self.memo[id(module)]  # type: ignore[no-any-return]

    @contextmanager
    def in_closures(self, args: tuple[Any, ...]) -> Iterator[None]:
        """Put real tensors into the closures and globals of traced functions."""
        cells = [
            (cell, cell.cell_contents)
            for function in args
            for cell in getattr(function, "__closure__", None) or ()
            if isinstance(cell.cell_contents, torch.Tensor | nn.Module)
        ]
        names = [
            (function.__globals__, name, function.__globals__[name])
            for function in args
            if hasattr(function, "__globals__")
            for name in function.__code__.co_names
            if isinstance(function.__globals__.get(name), torch.Tensor | nn.Module)
        ]
        for cell, value in cells:
            cell.cell_contents = self.of(value)
        for space, name, value in names:
            space[name] = self.of(value)
        try:
            yield
        finally:
            for cell, value in cells:
                cell.cell_contents = value
            for space, name, value in names:
                space[name] = value
