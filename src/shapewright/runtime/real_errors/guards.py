"""Guards on the code that a second run of an expression may execute.

torch's own functions and layers run, on data-free tensors, and Python's plain values.
The program's own code does not: it may count, write or print. With `every` it does;
that is meant for a child process, whose effects do not stay.
"""

from __future__ import annotations

import builtins
import inspect
from collections import UserDict, defaultdict
from collections.abc import Callable
from functools import partial
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import Buffer, Parameter

from shapewright.engine.call_sites import SKIP, TORCH, classify_file
from shapewright.operators.facts import operators_with
from shapewright.runtime.real_errors.rewritten_expressions import ASKED, PREFIX

PLAIN = frozenset({"builtins", "torch", "numpy", "types"})
"""Modules of types whose operators do nothing but compute."""
BUILTIN = frozenset(
    getattr(builtins, name)
    for name in "abs all any bool complex dict divmod enumerate float frozenset int"
    " isinstance len list max min pow range reversed round set slice sorted str sum"
    " tuple zip".split()
)
PURE = frozenset({"math", "operator", "_operator"})
"""Modules of Python's whose functions only compute."""
CHANGING = frozenset(
    "append extend insert pop popitem remove clear update setdefault sort reverse"
    " add discard".split()
)
"""Methods of plain containers that change them."""
TORCH_MODULES = (
    "torch.nn.", "torch.functional", "torch._tensor", "torch.linalg", "torch.fft",
    "torch.special", "torch.distributions.", "torch._jit_internal", "torch._VF",
    "torch._C._nn", "torch._C._linalg", "torch._C._fft", "torch._C._special",
    "torch.signal", "torch._linalg_utils", "torch._lowrank",
)  # fmt: skip
"""Modules of torch's functions on tensors; others save, seed and compile."""
NEVER = operators_with("does_not_compute")
"""Methods of tensors and layers that are no operators."""


class StepRefused(Exception):
    """Raised for a forbidden step; `own` means that it would run the program's code."""

    def __init__(self, what: str, own: bool = False) -> None:
        super().__init__(what)
        self.own = own


class StepGuards:
    """The checks that a rewritten expression calls.

    With `every` the program's own code runs too. `above` answers `super()`, `changed`
    gives the layer that is called in the place of another.
    """

    def __init__(
        self,
        every: bool,
        above: Callable[[], Any],
        changed: Callable[[nn.Module], nn.Module],
    ) -> None:
        self.every = every
        self.above = above
        self.changed = changed
        self.refused: StepRefused | None = None

    def names(self) -> dict[str, Any]:
        """Return the checks by the names that rewritten expressions use for them."""
        return {PREFIX + name: getattr(self, name) for name in ASKED}

    def refuse(self, what: str, own: bool = False) -> Any:
        """Raise `StepRefused` for a step, and remember it."""
        self.refused = StepRefused(what, own)
        raise self.refused

    def known(self, name: str, value: Any) -> None:
        """Check a name that the expression reads."""
        if hasattr(type(value), "__next__"):
            self.refuse(f"`{name}` is used up by reading it")

    def call(self, function: Any) -> Any:
        """Check a function before it is called, and return what to call instead."""
        if not (self.every or _can_call(function)):
            self.refuse(f"calls {function!r:.60}", own=True)
        owner, name = getattr(function, "__self__", None), _get_function_name(function)
        if name in CHANGING and isinstance(owner, list | dict | set):
            self.refuse(f"calls {name}")
        if name in NEVER and isinstance(owner, torch.Tensor | nn.Module):
            self.refuse(f"calls {name}")
        if isinstance(function, nn.Module):
            return self.changed(function)
        if not self.every and any(function is allowed for allowed in BUILTIN):
            return partial(self.builtin, function)
        return function

    def builtin(self, function: Any, *args: Any, **words: Any) -> Any:
        """Call a Python builtin, like `len`, if it runs no code of the program."""
        for value in (*args, *words.values()):
            if isinstance(value, type):
                continue
            root = type(value).__module__.partition(".")[0]
            if root not in ("collections", *PLAIN):
                self.refuse(f"asks a {type(value).__name__}", own=True)
            if callable(value) and not _can_call(value):
                self.refuse(f"calls {value!r:.60}", own=True)
        return function(*args, **words)

    def get(self, owner: Any, name: str) -> Any:
        """Return an attribute, if reading it is allowed."""
        value = get_attribute(owner, name)
        if value is ASKS_OWN:
            if not self.every:
                self.refuse(f"asks for {name}", own=True)
            value = getattr(owner, name)
        self.known(name, value)
        return value

    def held(self, container: Any) -> Any:
        """Check a container before it is indexed."""
        if isinstance(container, UserDict):
            container = container.data
        if isinstance(container, defaultdict):
            return dict(container)
        if not (
            self.every or _is_in_c(container, "__getitem__") or _is_of_torch(container)
        ):
            self.refuse(f"indexes a {type(container).__name__}", own=True)
        return container

    def wrote(self, value: Any) -> Any:
        """Check that the result of an in-place method is a tensor."""
        if not isinstance(value, torch.Tensor):
            self.refuse(f"writes into a {type(value).__name__}")
        return value

    def plain(self, value: Any) -> Any:
        """Check an operand of an operator or a condition."""
        if not (self.every or type(value).__module__.partition(".")[0] in PLAIN):
            self.refuse(f"computes with a {type(value).__name__}", own=True)
        return value

    def each(self, items: Any) -> Any:
        """Check an iterable before iteration."""
        if not (self.every or _is_in_c(items, "__iter__") or _is_of_torch(items)):
            self.refuse(f"goes through a {type(items).__name__}", own=True)
        return items


def _get_function_name(function: Any) -> str:
    """Return the name of a function, or an empty string if it has none."""
    return str(getattr(function, "__name__", ""))


def _is_in_c(value: Any, method: str) -> bool:
    """Return whether the type of a value has a method that is Python's or torch's."""
    slot = getattr(type(value), method, None)
    return isinstance(
        slot, WrapperDescriptorType | MethodDescriptorType
    ) or _is_torch_function(slot)


def _is_of_torch(value: Any) -> bool:
    """Return whether a value is exactly a tensor, a parameter or a buffer of torch."""
    kind = type(value)
    return kind in (torch.Tensor, Parameter, Buffer)


def _is_torch_function(function: Any) -> bool:
    """Return whether a Python function is defined in torch."""
    code = getattr(inspect.unwrap(function), "__code__", None) if function else None
    return code is not None and code.co_filename.startswith(TORCH)


def _can_call(function: Any) -> bool:
    """Return whether a call of `function` runs only torch operators or plain Python."""
    if isinstance(function, partial):
        return _can_call(function.func)
    if isinstance(function, nn.Module):
        return _is_own_layer(function)
    if isinstance(function, type):
        return function in BUILTIN or function.__module__.startswith("torch.")
    if isinstance(function, MethodType):
        owner = function.__self__
        if isinstance(owner, nn.Module) and not _is_own_layer(owner):
            return False
        return _is_in_torch_modules(function.__func__)
    if isinstance(function, FunctionType):
        return _is_in_torch_modules(function)
    owner = getattr(function, "__self__", None)
    if function in BUILTIN or getattr(function, "__module__", "") in PURE:
        return True
    if isinstance(function, BuiltinFunctionType | WrapperDescriptorType) or callable(
        function
    ):
        kind = owner if isinstance(owner, type) else type(owner)
        kind = getattr(function, "__objclass__", kind)
        if kind.__module__.partition(".")[0] in ("torch", "torch._C"):
            return True
        if isinstance(function, BuiltinFunctionType):
            plain = kind.__module__ in ("builtins", "collections")
            return plain and not isinstance(owner, ModuleType)
    return str(getattr(function, "__module__", "")).startswith(TORCH_MODULES)


def _is_in_torch_modules(function: Any) -> bool:
    """Return whether a Python function is defined in a torch module that computes."""
    module = f"{getattr(function, '__module__', '')}."
    return _is_torch_function(function) and module.startswith(TORCH_MODULES)


def _is_own_layer(module: nn.Module) -> bool:
    """Return whether a layer and its submodules are torch's own, without hooks."""
    for submodule in module.modules():
        kind: Any = type(submodule)
        if isinstance(submodule, torch.jit.ScriptModule):
            return False
        if not (_is_torch_function(kind.forward) and _is_torch_function(kind.__call__)):
            return False
        hooks = (submodule._forward_hooks, submodule._forward_pre_hooks)
        called = [hook for group in hooks for hook in group.values()]
        functions = [
            value
            for value in vars(submodule).values()
            if isinstance(value, FunctionType)
        ]
        if called or not all(map(_is_torch_function, functions)):
            return False
    return True


ASKS_OWN = object()
"""The answer of `get_attribute` if only the program's own code could answer."""


def get_attribute(owner: Any, name: str) -> Any:
    """Return an attribute without running the program's code, or `ASKS_OWN`."""
    if isinstance(owner, torch.Tensor):
        return getattr(owner, name) if _is_of_torch(owner) else ASKS_OWN
    if isinstance(owner, ModuleType):
        if owner.__name__.partition(".")[0] == "torch":
            return getattr(owner, name)
        return vars(owner).get(name, ASKS_OWN)
    if isinstance(owner, super):
        attribute = getattr(owner, name)
        return (
            attribute
            if _is_torch_function(getattr(attribute, "__func__", None))
            else ASKS_OWN
        )
    if isinstance(owner, nn.Module):
        for group in ("_parameters", "_buffers", "_modules"):
            held = vars(owner).get(group)
            if held and name in held:
                return held[name]
    missing = object()
    attribute = inspect.getattr_static(owner, name, missing)
    if attribute is missing:
        return ASKS_OWN
    own = getattr(owner, "__dict__", None)
    if isinstance(own, dict) and attribute is own.get(name, missing):
        return attribute
    if isinstance(attribute, property):
        return getattr(owner, name) if _is_given(attribute.fget) else ASKS_OWN
    if isinstance(attribute, FunctionType | staticmethod | classmethod):
        return _bind_method(attribute, owner)
    get = getattr(type(attribute), "__get__", None)
    if get is None:
        return attribute
    return getattr(owner, name) if isinstance(get, WrapperDescriptorType) else ASKS_OWN


def _bind_method(descriptor: Any, owner: Any) -> Any:
    """Return a method bound to its owner."""
    kind = owner if isinstance(owner, type) else type(owner)
    return descriptor.__get__(None if isinstance(owner, type) else owner, kind)


def _is_given(function: Any) -> bool:
    """Return whether a function is torch's or Python's own."""
    code = getattr(function, "__code__", None)
    return code is not None and classify_file(code.co_filename) == SKIP
