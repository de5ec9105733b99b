"""A real run on the CPU, written down call by call, and compared with a trace.

Every outermost call on tensors is noted as it happens, with what autograd, storages and
version counters say. Tensors and storages are numbered by first sight on both sides, so
that numbers are equal exactly when identity and aliasing are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from threading import get_ident
from typing import Any

import pytest
import torch
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten

import shapewright as sw
from shapewright.engine.function_names import OPERATORS, get_plain_name
from shapewright.engine.unseen_calls import watch_backward, wrap_in_mode
from shapewright.record import Fact

Tensor = torch.Tensor
Built = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
Call = Callable[[], Built]
Fields = tuple[str, ...]
MODES: dict[str, Callable[[], Any]] = {
    "grad": nullcontext,
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
}
SETTINGS = frozenset(
    """
    grad requires_grad_ __iter__ manual_seed _set_grad_enabled _base device
    broadcast_shapes set_rng_state get_rng_state _sync
""".split()
)
"""Calls that give a tensor or take one, and are no ops of a trace."""
NO_KERNEL = "could not create a primitive"
"""What oneDNN says of a call that it has for other processors only."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One tensor at one moment."""

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] | None
    offset: int
    requires_grad: bool
    is_leaf: bool
    grad_fn: str | None
    tensor: int
    storage: int
    version: int

    def __str__(self) -> str:
        grad = f" {self.grad_fn or 'leaf'}" if self.requires_grad else ""
        stride = "" if self.stride is None else f" by {self.stride}+{self.offset}"
        numbers = f"t{self.tensor} s{self.storage} v{self.version}"
        return f"<{self.dtype}{list(self.shape)}{stride}{grad} {numbers}>"


@dataclass(frozen=True, slots=True)
class Called:
    """One call: its name, and what went in and came out."""

    name: str
    inputs: tuple[Seen, ...]
    outputs: tuple[Seen, ...]

    def __str__(self) -> str:
        ins, outs = map(str, self.inputs), map(str, self.outputs)
        return f"{self.name}({', '.join(ins)}) -> {', '.join(outs)}"


@dataclass(slots=True)
class Run:
    """All calls that gave tensors, what came out in the end, or the error."""

    calls: list[Called] = field(default_factory=list)
    output: tuple[Any, ...] = ()
    error: str = ""
    lost: list[str] = field(default_factory=list)  # what the recorder says it missed


def tensors(nest: Any) -> list[Tensor]:
    """The tensors in a nest, in order."""
    return [leaf for leaf in tree_flatten(nest)[0] if isinstance(leaf, Tensor)]


def transformed(tensor: Tensor) -> bool:
    """Inside vmap or grad: whose storage it is, is the transform's own."""
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def numbered(run: Run) -> Run:
    """Tensors and storages numbered by first sight."""
    faces: dict[int, int] = {}
    storages: dict[int, int] = {}

    def one(seen: Any) -> Any:
        if not isinstance(seen, Seen):
            return seen
        face = faces.setdefault(seen.tensor, len(faces))
        return replace(
            seen, tensor=face, storage=storages.setdefault(seen.storage, len(storages))
        )

    calls = [
        Called(call.name, tuple(map(one, call.inputs)), tuple(map(one, call.outputs)))
        for call in run.calls
    ]
    return Run(calls, tuple(map(one, run.output)), run.error, run.lost)


def node_of(tensor: Tensor) -> str | None:
    """The name of its node; None where torch refuses to tell."""
    try:
        return tensor.grad_fn.name() if tensor.grad_fn is not None else None
    except RuntimeError:
        return None


class Noted(TorchFunctionMode):
    """Writes down every outermost call of a real run."""

    def __init__(self) -> None:
        super().__init__()
        self.run = Run()
        self.alive: list[Any] = []  # so that no identity is given twice
        self.threads = {get_ident()}
        self.first_version: dict[Any, int] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = get_plain_name(func)
        if name in SETTINGS:
            return func(*args, **kwargs)
        if getattr(func, "__module__", "") == "torch.nn.init":
            return self.unwritten(func(*args, **kwargs))
        if name == "register_hook":
            args = (args[0], wrap_in_mode(self, args[1]))
        given = tensors((args, kwargs))
        if any(is_lazy(tensor) for tensor in given):  # a lazy module materialises
            return func(*args, **kwargs)
        before = tuple(self.seen(tensor) for tensor in given)
        out = func(*args, **kwargs)
        made = tensors(out)
        if name == "__setitem__":
            made = given[:1]
        if made:
            after = tuple(self.seen(tensor) for tensor in made)
            self.run.calls.append(Called(name, before, after))
        return out

    def unwritten(self, tensor: Tensor) -> Tensor:
        """Initialisers draw nothing in a trace, so their writes do not count."""
        key = tensor.untyped_storage()._cdata
        if not tensor.is_inference():
            self.first_version[key] = tensor._version
        return tensor

    def seen(self, tensor: Tensor) -> Seen:
        with torch._C.DisableTorchFunction():
            return self._seen(tensor)

    def _seen(self, tensor: Tensor) -> Seen:
        self.alive.append(tensor)
        strided = tensor.layout is torch.strided and not tensor.is_nested
        strided = strided and not is_lazy(tensor)
        key = id(tensor)
        if strided and not transformed(tensor):
            storage = tensor.untyped_storage()
            self.alive.append(storage)
            key = storage._cdata
        version = -1  # inference tensors have none
        if not tensor.is_inference():
            version = tensor._version
            version -= self.first_version.setdefault(key, version)
        return Seen(
            () if tensor.is_nested or is_lazy(tensor) else tuple(tensor.shape),
            str(tensor.dtype).removeprefix("torch."),
            tensor.stride() if strided else None,
            tensor.storage_offset() if strided else 0,
            tensor.requires_grad,
            not tensor.requires_grad or node_of(tensor) is None,
            node_of(tensor),
            id(tensor),
            key,
            version,
        )


@contextmanager
def unnoticed() -> Iterator[None]:
    """Layers decide for their fused kernels as if nothing were written down."""
    has_torch_function = torch.overrides.has_torch_function

    def without_ours(relevant_args: Any) -> Any:
        if not torch._C._len_torch_function_stack():  # asked while it writes down
            return has_torch_function(relevant_args)
        with torch.overrides._pop_mode_temporarily() as top:
            if isinstance(top, Noted):  # else it is a mode of the program's
                return has_torch_function(relevant_args)
        return has_torch_function(relevant_args)

    torch.overrides.has_torch_function = without_ours
    try:
        yield
    finally:
        torch.overrides.has_torch_function = has_torch_function


def really(program: Callable[..., Any], args: Any, kwargs: Any) -> Run:
    """Run a program on real tensors."""
    noted = Noted()
    try:
        with watch_backward(noted), unnoticed(), noted, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = program(*args, **kwargs)
    except Exception as error:
        noted.run.error = f"{type(error).__name__}: {error}"
        return noted.run
    noted.run.output = tuple(
        noted.seen(leaf) if isinstance(leaf, Tensor) else leaf
        for leaf in tree_flatten(opened(out))[0]
    )
    return noted.run


def opened(nest: Any) -> Any:
    """A dataclass as a dict, as a trace has it."""
    return vars(nest) if hasattr(nest, "__dataclass_fields__") else nest


def traced(
    program: Callable[..., Any], args: Any, kwargs: Any, values: bool = True
) -> tuple[Run, sw.Trace]:
    """Trace it without data, in the form of a real run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = sw.options(values=values).trace(program, *args, **kwargs)

    def seen(fact: Fact) -> Seen:
        return Seen(
            fact.shape, fact.dtype, fact.stride, fact.storage_offset,
            fact.requires_grad, fact.is_leaf, fact.grad_fn, fact.tensor,
            fact.storage, fact.version,
        )  # fmt: skip

    run = Run()
    run.lost = [note for note in trace.notes if note.startswith("not recorded")]
    for op in trace.ops:
        if op.outputs and op.kind != "read":
            before = tuple(map(seen, op.inputs))
            run.calls.append(Called(op.name, before, tuple(map(seen, op.outputs))))
    if trace.findings:
        run.error = trace.findings[-1].torch_message
    elif trace.complete:
        run.output = tuple(
            seen(leaf) if isinstance(leaf, Fact) else leaf
            for leaf in tree_flatten(trace.output)[0]
        )
    return run, trace


def same_name(real: str, shown: str) -> bool:
    """Whether a recorded name shows this function."""
    last = shown if shown in OPERATORS.values() else shown.rpartition(".")[2]
    bare = (
        real.strip("_")
        .removeprefix("special_")
        .removeprefix("linalg_")
        .removeprefix("fft_")
    )
    forms = {real, bare, f"__{bare}__", f"__r{bare}__", f"__i{bare}__"}
    forms |= {f"__{bare[:3]}__", f"__{bare.replace('div', 'truediv')}__"}
    forms |= {f"__i{bare.replace('div', 'truediv')}__"}
    shown_as = {OPERATORS.get(form, form) for form in forms}
    return last in shown_as or last.strip("_") in (bare, real)


def fields(one: Seen, other: Seen, skipped: Fields) -> list[str]:
    """In what two tensors differ."""
    return [
        name
        for name in Seen.__dataclass_fields__
        if name not in skipped
        and getattr(one, name) != getattr(other, name)
        and not (name == "version" and one.version == -1)
    ]


def differences(real: Run, ours: Run, skipped: Fields = ()) -> list[str]:
    """Where a trace parts from the real run; nothing if it never does."""
    found = list(ours.lost)
    for number, (a, b) in enumerate(zip_longest(real.calls, ours.calls)):
        if a is None or b is None or not same_name(a.name, b.name):
            found.append(f"call {number}: real {a}, traced {b}")
            break
        where = f"call {number} {a.name}"
        found += compared(f"{where}, input", a.inputs, b.inputs, skipped)
        found += compared(f"{where}, output", a.outputs, b.outputs, skipped)
    if not found and not real.error and not ours.error:
        found += compared("in the end,", real.output, ours.output, skipped)
    if real.error.splitlines()[:1] != ours.error.splitlines()[:1]:
        found.append(f"error: real {real.error!r}, traced {ours.error!r}")
    return found


def compared(
    where: str, real: Iterable[Any], ours: Iterable[Any], skipped: Fields
) -> list[str]:
    """Differences of two rows of tensors and plain values."""
    found = []
    for index, (a, b) in enumerate(zip_longest(real, ours)):
        if isinstance(a, Seen) and isinstance(b, Seen):
            names = fields(a, b, skipped)
            if names:
                found.append(f"{where} {index}: {', '.join(names)}: real {a}, ours {b}")
        elif isinstance(a, Seen) or isinstance(b, Seen) or not alike(a, b):
            found.append(f"{where} {index}: real {a}, traced {b}")
    return found


def alike(real: Any, ours: Any) -> bool:
    """Plain values; a record keeps the text of what it can't hold, and no long text."""
    if isinstance(ours, str) and ours.endswith("..."):
        return str(real).startswith(ours.removesuffix("..."))
    return real == ours or str(ours).startswith("<")


def check(
    build: Call, mode: str = "grad", skipped: Fields = (), values: bool = True
) -> list[str]:
    """Run what `build` gives for real, build it again, trace it, compare."""
    program, args, kwargs = build()
    with MODES[mode]():
        real = really(program, args, kwargs)
    if NO_KERNEL in real.error:
        pytest.skip("this CPU has no such kernel in this dtype: there is no oracle")
    program, args, kwargs = build()
    with MODES[mode]():
        ours, _ = traced(program, args, kwargs, values)
    return differences(numbered(real), numbered(ours), skipped)
