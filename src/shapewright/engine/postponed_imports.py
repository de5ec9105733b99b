"""Slow parts of torch that a run needs seldom: imported only where they are needed.

torch's own code, torchvision and transformers import the compiler and the sizes with
symbols (1 to 3 s, with sympy) for a single answer that is always the same while nothing
is compiled and every size is a number. Stand-ins give that answer; whatever else is
asked of them imports the real module in their place.
"""

from __future__ import annotations

import builtins
import importlib
import sys
import types
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import torch

from shapewright.engine.private import step_aside
from shapewright.engine.replacement import replace_attribute


@contextmanager
def skip_symbolic_checks() -> Iterator[None]:
    """Let torch check conditions and promote dtypes without importing symbolic sizes.

    Meta kernels in Python ask of each size whether it is symbolic, and import sympy for
    it (0.6 s). Sizes here are numbers: what is asked of numbers is answered without it,
    and anything else goes to torch.
    """
    with ExitStack() as stack:
        original = vars(torch).get("_check_with")
        if original is not None:

            def check(error_type: Any, condition: Any, message: Any) -> None:
                if condition is not True:
                    original(error_type, condition, message)

            stack.enter_context(
                replace_attribute(torch, "_check_with", lambda _: check)
            )
        for name in ("torch._prims_common", "torch._meta_registrations"):
            module = sys.modules.get(name)
            promote = vars(module).get("elementwise_dtypes") if module else None
            if isinstance(promote, types.FunctionType):
                stack.enter_context(
                    replace_attribute(module, "elementwise_dtypes", _copy_without_sympy)
                )
        if SYMBOLIC_SHAPES not in sys.modules:
            stack.callback(_remove_plain_sizes)
            sys.modules[SYMBOLIC_SHAPES] = _PlainSizes(SYMBOLIC_SHAPES)
            importlib.import_module("torch.fx.experimental._config")
        yield


SYMBOLIC_SHAPES = "torch.fx.experimental.symbolic_shapes"
"""The module that meta kernels import in their bodies, and that imports sympy."""


class _PlainSizes(types.ModuleType):
    """Module of symbolic sizes that answers what is asked of plain numbers."""

    __path__: list[str] = []
    __spec__ = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # `inspect` asks each module for its file
            raise AttributeError(name)
        return getattr(_load_symbolic_shapes(), name)

    def free_unbacked_symbols(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and _has_plain_sizes(value):
            return set()
        return _load_symbolic_shapes().free_unbacked_symbols(value)

    def expect_true(self, condition: Any, skip: int = 0) -> Any:
        if type(condition) is bool:
            return condition
        return _load_symbolic_shapes().expect_true(condition, skip)

    def has_guarding_hint(self, size: Any) -> Any:
        return _load_symbolic_shapes().has_guarding_hint(size)

    def guarding_hint_or_throw(self, size: Any) -> Any:
        return _load_symbolic_shapes().guarding_hint_or_throw(size)

    def statically_known_true(self, condition: Any) -> Any:
        if type(condition) is bool:
            return condition
        return _load_symbolic_shapes().statically_known_true(condition)

    def guard_size_oblivious(self, condition: Any) -> Any:
        if type(condition) is bool:
            return condition
        return _load_symbolic_shapes().guard_size_oblivious(condition)

    def is_nested_int(self, size: Any) -> Any:
        if type(size) is int:
            return False
        return _load_symbolic_shapes().is_nested_int(size)

    def guard_or_false(self, condition: Any) -> Any:
        if type(condition) is bool:
            return condition
        return _load_symbolic_shapes().guard_or_false(condition)

    def guard_or_true(self, condition: Any) -> Any:
        if type(condition) is bool:
            return condition
        return _load_symbolic_shapes().guard_or_true(condition)

    def sym_eq(self, left: Any, right: Any) -> Any:
        if type(left) is int and type(right) is int:
            return left == right
        sequences = isinstance(left, (tuple, list)) and isinstance(right, (tuple, list))
        if sequences and all(type(size) is int for size in (*left, *right)):
            return tuple(left) == tuple(right)
        return _load_symbolic_shapes().sym_eq(left, right)

    def sym_and(self, *conditions: Any) -> Any:
        if all(type(condition) is bool for condition in conditions):
            return all(conditions)
        return _load_symbolic_shapes().sym_and(*conditions)

    def sym_or(self, *conditions: Any) -> Any:
        if all(type(condition) is bool for condition in conditions):
            return any(conditions)
        return _load_symbolic_shapes().sym_or(*conditions)


def _has_plain_sizes(tensor: torch.Tensor) -> bool:
    """Return whether the sizes and strides of a tensor, and its offset, are numbers."""
    if tensor.layout is not torch.strided:
        return all(type(size) is int for size in tensor.shape)
    numbers = (*tensor.shape, *tensor.stride(), tensor.storage_offset())
    return all(type(number) is int for number in numbers)


def _load_symbolic_shapes() -> types.ModuleType:
    """Return torch's own module, imported in the place of the light one."""
    _remove_plain_sizes()
    return importlib.import_module(SYMBOLIC_SHAPES)


def _remove_plain_sizes() -> None:
    if isinstance(sys.modules.get(SYMBOLIC_SHAPES), _PlainSizes):
        del sys.modules[SYMBOLIC_SHAPES]


class _NoSymbols:
    """What `import sympy` gives where nothing symbolic can exist yet."""

    class Basic:
        """A symbolic number, of which there are none."""


def _copy_without_sympy(function: types.FunctionType) -> types.FunctionType:
    """Return a function whose `import sympy` loads nothing.

    Where the program has loaded sympy, its own module is given, since operands may be
    symbolic then.
    """

    def load(name: str, *args: Any) -> Any:
        if name == "sympy" and name not in sys.modules:
            return _NoSymbols
        return __import__(name, *args)

    builtin = {**vars(builtins), "__import__": load}
    copy = types.FunctionType(
        function.__code__,
        {**function.__globals__, "__builtins__": builtin},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


@contextmanager
def replace_dynamo() -> Iterator[None]:
    """Replace `torch._dynamo` by a stand-in until it is imported.

    `torch/_compile.py` imports `torch._dynamo` (1 to 2 s, with sympy) at the first call
    of a meta kernel written in Python, only to learn that nothing is being compiled.
    In this context a stand-in module returns the function unchanged; any other use
    imports the real module instead. The cached answers are removed on exit.
    """
    if "torch._dynamo" in sys.modules:
        yield
        return
    stand_in = _StandIn("torch._dynamo")
    sys.modules["torch._dynamo"] = stand_in
    parts = {name: _PostponedModule(name, stand_in) for name in POSTPONED}
    sys.modules.update(parts)
    had = "_dynamo" in vars(torch)
    try:
        yield
    finally:
        stand_in.remove()
        if not had and vars(torch).get("_dynamo") is stand_in:
            del torch._dynamo
        for function in stand_in.answered:
            vars(function).pop("__dynamo_disable", None)


def is_stand_in() -> bool:
    """Return whether `torch._dynamo` is currently the stand-in."""
    return isinstance(sys.modules.get("torch._dynamo"), _StandIn)


def import_compiler() -> None:
    """Import torch's real compiler in place of the stand-in."""
    module = sys.modules.get("torch._dynamo")
    if isinstance(module, _StandIn):
        vars(torch).pop("_dynamo", None)
        module.__path__  # noqa: B018  # any use


class _StandIn(types.ModuleType):
    """A stand-in for `torch._dynamo` until more than its no-op functions is used."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.answered: list[Any] = []

    def disable(self, function: Any, *_: object, **__: object) -> Any:
        self.answered.append(function)
        return function

    def remove(self) -> None:
        """Let the next import be that of the real module and its parts."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        for name in POSTPONED:
            if isinstance(sys.modules.get(name), _PostponedModule):
                del sys.modules[name]

    def graph_break(self, *_: object, **__: object) -> None:
        """Do nothing; in torch 2.6, every step of an optimizer calls this function."""

    def __getattr__(self, name: str) -> Any:
        if name == "__file__":  # inspect asks every module; that is no use of it
            raise AttributeError(name)
        if name in ANSWERS and sys.modules.get(self.__name__) is self:
            return _StandInPart(self, name)
        if sys.modules.get(self.__name__) is self:
            self.remove()
            with ExitStack() as stack:
                stack.enter_context(torch._C.DisableTorchFunction())
                for unpatched in step_aside:
                    stack.enter_context(unpatched())
                importlib.import_module(self.__name__)
        return getattr(importlib.import_module(self.__name__), name)


class _StandInPart:
    """A part of `torch._dynamo` with the answers that torch asks for while nothing is
    compiled, as `checkpoint` and `torch.func.grad` do at each call.
    """

    def __init__(self, compiler: _StandIn, name: str) -> None:
        vars(self).update(ANSWERS[name], _compiler=compiler, _name=name)

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self._import_all(), self._name), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(getattr(self._import_all(), self._name), name, value)
        vars(self)[name] = value

    def _import_all(self) -> Any:
        self._compiler.__path__  # noqa: B018  # imports the module
        return sys.modules["torch._dynamo"]


ANSWERS: dict[str, dict[str, Any]] = {
    "config": {"error_on_nested_fx_trace": True},
    "compiled_autograd": {"_disable": nullcontext},
}
"""What these parts of `torch._dynamo` answer without being imported."""


class _PostponedModule(types.ModuleType):
    """A module of `torch._dynamo` that libraries import at their head: its functions
    import the real one when they are called.
    """

    def __init__(self, name: str, compiler: _StandIn) -> None:
        super().__init__(name)
        self._compiler = compiler

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in POSTPONED[self.__name__] or self._is_replaced():
            return getattr(self._import(), name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(self._import(), name)(*args, **kwargs)

        return call

    def _is_replaced(self) -> bool:
        return sys.modules.get(self.__name__) is not self

    def _import(self) -> types.ModuleType:
        if not self._is_replaced():
            self._compiler.__path__  # noqa: B018  # imports the compiler
        return importlib.import_module(self.__name__)


POSTPONED = {
    "torch._dynamo.utils": {"is_compile_supported"},  # torchvision.ops
    "torch._dynamo._trace_wrapped_higher_order_op": {
        "TransformGetItemToIndex"  # transformers.masking_utils
    },
}
"""What libraries take from modules of `torch._dynamo` when they are imported."""
