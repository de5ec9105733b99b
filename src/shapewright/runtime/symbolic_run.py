"""Runs of a model on torch's fake tensors, some of whose sizes are symbols.

Torch's `ShapeEnv` and fake tensors are private in part, and are found by feature: they
are the only other engine that carries sizes as formulas, which is what a proof needs. A
run holds where its conditions hold; each letter is at least 2 in it unless it is given
as a number, as torch takes 0 and 1 apart.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from shapewright.engine import nests
from shapewright.engine.call_sites import USER, Positions, classify_file
from shapewright.engine.failures.run_ends import Stopped, get_message
from shapewright.engine.private import UninitializedTensor
from shapewright.program.spans import Span
from shapewright.runtime.limits import delay_signals, limit_time
from shapewright.runtime.restore.snapshot import Snapshot, restore_snapshot
from shapewright.runtime.symbolic_sizes import SymbolReader, Unreadable
from shapewright.sizes.conditions import Condition
from shapewright.sizes.expressions import Expression


def _get_shape(tensor: torch.Tensor) -> Any:
    """Return the shape of a tensor as a leaf of a nested result."""
    return _Leaf(tuple(tensor.shape))


@dataclass(frozen=True, slots=True)
class _Leaf:
    sizes: tuple[Any, ...]


@contextmanager
def _silence_log() -> Iterator[None]:
    """Silence torch's log of rejected calls, which are expected results here."""
    names = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolicshape_ofs")
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


@contextmanager
def _use_plain_kernels() -> Iterator[None]:
    """Disable CPU kernels that convolutions choose by batch size (`B < 16`).

    The public switch of oneDNN warns about other flags, so its private counterpart is
    used.
    """
    kinds = [
        kind
        for kind in ("mkldnn", "nnpack")
        if hasattr(torch._C, _get_switch_name(kind))
    ]
    before = {kind: getattr(torch._C, f"_get_{kind}_enabled")() for kind in kinds}
    for kind in kinds:
        getattr(torch._C, _get_switch_name(kind))(False)
    try:
        yield
    finally:
        for kind, enabled in before.items():
            getattr(torch._C, _get_switch_name(kind))(enabled)


def _get_switch_name(kind: str) -> str:
    return f"_set_{kind}_enabled"


@contextmanager
def _replace_by_fakes(modules: list[nn.Module]) -> Iterator[None]:
    """Replace parameters and buffers by fake tensors on the devices that they claim."""
    fakes: dict[int, Any] = {}
    before: list[tuple[dict[str, Any], dict[str, Any]]] = []
    try:
        for module in modules:
            for states in (module._parameters, module._buffers):
                before.append((states, dict(states)))
                for name, tensor in states.items():
                    if tensor is not None and id(tensor) not in fakes:
                        fakes[id(tensor)] = _make_fake(tensor)
                    if tensor is not None:
                        states[name] = fakes[id(tensor)]
            if isinstance(module, nn.RNNBase):  # it holds its weights twice
                held = vars(module)
                before.append((held, {"_flat_weights": held["_flat_weights"]}))
                held["_flat_weights"] = [
                    getattr(module, name, None) for name in module._flat_weights_names
                ]
        yield
    finally:
        for states, tensors in before:
            states.update(tensors)


def _make_fake(tensor: torch.Tensor) -> torch.Tensor:
    """Return a fake tensor like `tensor`, on the CPU if `tensor` is on `meta`."""
    if tensor.layout is not torch.strided or isinstance(tensor, UninitializedTensor):
        return tensor
    info = getattr(tensor, "_sw", None)
    device = info.meta.device if info is not None else str(tensor.device)
    fake = torch.empty_strided(
        tuple(tensor.shape),
        tensor.stride(),
        dtype=tensor.dtype,
        device="cpu" if device == "meta" else device,
    )
    if isinstance(tensor, nn.Parameter):
        return nn.Parameter(fake, requires_grad=tensor.requires_grad)
    return fake


@contextmanager
def _watch_modules(
    modules: list[tuple[str, nn.Module]], seen: dict[tuple[str, int], Any]
) -> Iterator[None]:
    """Note the output shapes of each call of a module, by its path and call number."""
    paths = {id(module): path for path, module in reversed(modules)}
    counts: dict[str, int] = {}
    running: list[tuple[str, int]] = []

    def begin(module: nn.Module, args: Any) -> None:
        path = paths.get(id(module))
        if path is not None:
            counts[path] = counts.get(path, 0) + 1
            running.append((path, counts[path]))

    def end(module: nn.Module, args: Any, output: Any) -> None:
        path = paths.get(id(module))
        while path is not None and running:
            key = running.pop()
            if key[0] == path:
                seen[key] = nests.copy_nest(output, _get_shape)
                return

    hooks = [register_module_forward_pre_hook(begin)]
    hooks.append(register_module_forward_hook(end))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def make_symbolic_input(shape: list[Any], dtype: str, device: str) -> torch.Tensor:
    """Return an input for a symbolic run, whose sizes may be symbols."""
    claimed = "cpu" if device == "meta" else device
    return torch.empty(tuple(shape), dtype=getattr(torch, dtype), device=claimed)


Dims = tuple[Expression | None, ...]
Make = Callable[[Mapping[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]
"""Function from sizes, some of them torch's symbols, to the arguments of the call."""


@dataclass(frozen=True, slots=True)
class SymbolicGuard:
    """A condition that a run relied on, and the user's line that tested it.

    `condition` is None if torch's cannot be read; `text` is torch's own then.
    """

    condition: Condition | None
    text: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class Symbolic:
    """The results of a symbolic run.

    `sizes` are the example sizes that led it; `fixed` the letters that were numbers in
    it. `refused` is torch's or the program's error; `undecided` is why the run proves
    nothing. `calls` are the outputs of module calls, by path and count.
    """

    sizes: Mapping[str, int]
    fixed: frozenset[str]
    guards: tuple[SymbolicGuard, ...]
    outputs: tuple[Dims, ...] = ()
    calls: Mapping[tuple[str, int], tuple[Dims, ...]] = field(default_factory=dict)
    refused: str | None = None
    undecided: str | None = None


def find_missing() -> str | None:
    """Return what torch lacks for symbolic runs, or None if it has everything."""
    try:
        _Torch()
    except (ImportError, AttributeError) as error:
        return f"this torch has no symbolic sizes as they are used here ({error})"
    return None


class _Torch:
    """Torch's private parts, which are imported before the run begins."""

    def __init__(self) -> None:
        from torch._dispatch.python import enable_python_dispatcher
        from torch._dynamo.source import ConstantSource
        from torch._subclasses.fake_tensor import (
            DataDependentOutputException,
            DynamicOutputShapeException,
            FakeTensorMode,
            UnsupportedOperatorException,
        )
        from torch.fx.experimental.symbolic_shapes import (
            DimDynamic,
            GuardOnDataDependentSymNode,
            ShapeEnv,
            StrictMinMaxConstraint,
        )
        from torch.utils._sympy.numbers import int_oo
        from torch.utils._sympy.value_ranges import ValueRanges

        self.env: Any = ShapeEnv()
        self.mode: Any = FakeTensorMode(shape_env=self.env, allow_non_fake_inputs=True)
        self.dispatcher: Callable[[], Any] = enable_python_dispatcher
        self.source: Any = ConstantSource
        self.dynamic: Any = DimDynamic.DYNAMIC
        self.bounds: Any = StrictMinMaxConstraint(
            warn_only=False, vr=ValueRanges(2, int_oo)
        )
        self.unknown: tuple[type[Exception], ...] = (
            DataDependentOutputException,
            DynamicOutputShapeException,
            UnsupportedOperatorException,
            GuardOnDataDependentSymNode,
            NotImplementedError,
        )

    def symbol(self, name: str, size: int) -> tuple[str, Any]:
        """Return the name of a letter in torch, and its symbolic size."""
        source = self.source(name)
        symbol = self.env.create_symbol(
            size,
            source,
            dynamic_dim=self.dynamic,
            constraint_dim=self.bounds,
            do_not_specialize_zero_one=True,
        )
        number = self.env.create_symintnode(symbol, hint=size, source=source)
        return symbol.name, number


def run_symbolically(
    target: Callable[..., Any],
    make: Make,
    sizes: Mapping[str, int],
    taken: Snapshot,
    seconds: float | None = None,
    kernels: bool = False,
) -> Symbolic:
    """Run a target with symbolic sizes, guided by example sizes, and restore all state.

    With `kernels`, torch chooses CPU kernels as ever: it then has symbolic sizes for an
    LSTM, but tests whether a convolution's batch is less than 16.
    """
    parts = _Torch()
    fixed = frozenset(name for name, size in sizes.items() if size < 2)
    symbols = {n: parts.symbol(n, s) for n, s in sizes.items() if n not in fixed}
    letters = {torch_name: name for name, (torch_name, _) in symbols.items()}
    letter_sizes = {
        **sizes,
        **{name: symbolic_size for name, (_, symbolic_size) in symbols.items()},
    }
    reading = SymbolReader(letters)
    lines = _Lines()
    parts.env.guards = lines
    seen: dict[tuple[str, int], Any] = {}
    output: Any = None
    refused = undecided = None
    life, held = object(), list[object]()
    with delay_signals() as heard, ExitStack() as stack:
        stack.enter_context(restore_snapshot(taken, (), {}, life))
        held.append(life)  # the surroundings are looked at after every such run
        for context in (
            _silence_log(),
            torch.no_grad(),
            parts.mode,
            parts.dispatcher(),
        ):
            stack.enter_context(context)
        if not kernels:
            stack.enter_context(_use_plain_kernels())
        stack.enter_context(_replace_by_fakes([module for _, module in taken.near]))
        stack.enter_context(_watch_modules(taken.modules, seen))
        try:
            with limit_time(seconds), heard():
                args, kwargs = make(letter_sizes)
                output = target(*args, **kwargs)
                output = nests.copy_nest(output, _get_shape)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever ends the program
            refused, undecided = _explain_error(error, parts.unknown)
    guards = tuple(lines.guards(reading))
    done = refused is None and undecided is None
    outputs = tuple(_iter_dims(output, reading)) if done else ()
    calls = {key: tuple(_iter_dims(nest, reading)) for key, nest in seen.items()}
    return Symbolic(sizes, fixed, guards, outputs, calls, refused, undecided)


def _explain_error(
    error: BaseException, unknown: tuple[type[BaseException], ...]
) -> tuple[str | None, str | None]:
    """Return the reason why a run was refused, and the reason why it proves nothing."""
    if isinstance(error, Stopped):
        return None, "the symbolic run took too long"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, unknown):
            return None, f"{type(cause).__name__}: {_get_first_line(cause)}"
        cause = cause.__cause__ or cause.__context__
    return f"{type(error).__name__}: {_get_first_line(error)}", None


def _get_first_line(error: BaseException) -> str:
    lines = get_message(error).splitlines()
    return lines[0] if lines else ""


class _Lines(list[Any]):
    """Torch's list of guards, with the user's line that caused each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.sites: list[tuple[Any, int] | None] = []

    def append(self, guard: Any) -> None:
        super().append(guard)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and classify_file(frame.f_code.co_filename) != USER:
            frame = frame.f_back
        self.sites.append(None if frame is None else (frame.f_code, frame.f_lasti))

    def guards(self, reading: SymbolReader) -> Iterator[SymbolicGuard]:
        """Yield the guards as conditions, without duplicates."""
        positions = Positions(os.getcwd(), {})
        known = set[Any]()
        for guard, site in zip(self, self.sites, strict=True):
            if guard.expr in known:
                continue
            known.add(guard.expr)
            span = positions.frame(*site).span if site is not None else None
            try:
                condition = reading.condition(guard.expr)
            except (Unreadable, TypeError):
                yield SymbolicGuard(None, str(guard.expr), span)
            else:
                yield SymbolicGuard(condition, str(condition), span)


def _iter_dims(nest: Any, reading: SymbolReader) -> Iterator[Dims]:
    """Yield the shapes in a nested result, in order."""
    if isinstance(nest, _Leaf):
        yield tuple(_read_size(size, reading) for size in nest.sizes)
    elif isinstance(nest, dict):
        for value in nest.values():
            yield from _iter_dims(value, reading)
    elif isinstance(nest, list | tuple):
        for value in nest:
            yield from _iter_dims(value, reading)


def _read_size(size: Any, reading: SymbolReader) -> Expression | None:
    try:
        return reading.size(size)
    except Unreadable:
        return None
