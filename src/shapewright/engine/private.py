"""Private APIs of torch on which the engine relies, with the reason for each.

They are looked up by feature, not by version, and every patch is undone after a run.
"""

from __future__ import annotations

import builtins
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
    suppress,
)
from functools import cache
from typing import Any

import torch
from torch.nested._internal import nested_tensor as jagged_tensors
from torch.nn import parameter

from shapewright.engine.replacement import replace_attribute

FUNCTION_GETTER = type(vars(torch._C.TensorBase)["shape"].__get__)
"""The type of the bound `__get__` that a function mode sees for `x.shape`."""


GROUPING = (torch._C, "_group_tensors_by_device_and_dtype")
"""The function by which torch.optim groups tensors by device and dtype."""


INNER_NESTED_MAKERS = (
    (torch._C._nested, "nested_tensor"),  # type: ignore[attr-defined]
    (torch, "_nested_tensor_from_tensor_list"),
    (jagged_tensors, "jagged_from_list"),
    (jagged_tensors, "jagged_from_tensor_and_lengths"),
    (jagged_tensors, "nested_view_from_values_offsets_lengths"),
)
"""The inner functions that the functions of `torch.nested` look up in every call.

A program may have imported the outer functions before a run replaced them.
"""


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
        return getattr(_load_symbolic_shapes(), name)

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


is_transformed: Callable[[torch.Tensor], bool] = (
    torch._C._functorch.is_functorch_wrapped_tensor
)
"""Return whether vmap, grad or another functorch transform wraps a tensor.

There is no public test, and a wrapper's strides and values are not its own.
"""


unwrapped: Callable[[torch.Tensor], torch.Tensor] = torch._C._functorch.get_unwrapped
"""Return the tensor that the innermost transform wraps."""


BUILT_IN_OPERATORS = ("aten", "prim", "prims", "quantized", "inductor", "rngprims")
"""Namespaces of operators that torch itself makes."""


def find_operator_without_fake(func: Any) -> str:
    """Return the name of a custom operator for which no fake kernel is registered, or
    nothing. There is no public way to ask for it.
    """
    operator = func
    if isinstance(func, torch._ops.OpOverloadPacket):
        operator = getattr(func, func.overloads()[0])
    if not isinstance(operator, torch._ops.OpOverload):
        return ""
    name = operator._schema.name
    if operator.namespace in BUILT_IN_OPERATORS or operator.namespace.startswith("_"):
        return ""
    with suppress(ImportError, AttributeError):
        from torch._library.custom_ops import OPDEFS

        if name in OPDEFS:
            return name if OPDEFS[name]._abstract_fn is None else ""
    with suppress(ImportError, AttributeError):
        from torch._library import simple_registry

        if simple_registry.singleton.find(name).fake_impl.kernel is not None:
            return ""
    for key in ("Meta", "CompositeImplicitAutograd"):
        if torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), key):
            return ""
    return name


def is_in_transform() -> bool:
    """Return whether a `torch.func` transform (vmap, grad ...) is active."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def get_autograd_node() -> Any:
    """Return the node whose backward runs in this thread, or None; there is no public
    way to ask.
    """
    return torch._C._current_autograd_node()


def get_sequence_number() -> int:
    """Return the number that the next node of autograd gets in this thread.

    A node's own number is private too: the one that was next when its call began.
    """
    number: int = torch._C._autograd._get_sequence_nr()
    return number


def count_uses(tensor: torch.Tensor) -> int:
    """Return how many references torch holds to a tensor; no public API says so."""
    count: int = tensor._use_count()  # type: ignore[attr-defined]
    return count


def count_storage_uses(tensor: torch.Tensor) -> int:
    """Return how many tensors and objects share a tensor's storage."""
    count: int = torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)
    return count


def is_in_dispatch_mode() -> bool:
    """Return whether a dispatch mode, such as `FakeTensorMode`, is active."""
    return torch._C._len_torch_dispatch_stack() > 0


def has_saving_hooks() -> bool:
    """Return whether saved-tensor hooks are active, as in checkpointing.

    torch has no public API for this.
    """
    top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
    return top is None or top(False) is not None


UninitializedTensor: type = parameter.UninitializedTensorMixin  # type: ignore[attr-defined]
"""The common base of lazy parameters and buffers, missing from the stubs."""


def suspend_transforms() -> AbstractContextManager[Any]:
    """Suspend all `torch.func` transforms within the block."""
    if not is_in_transform():
        return nullcontext()
    from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

    return temporarily_clear_interpreter_stack()


def make_nested(lengths: list[int], width: int, dtype: torch.dtype) -> torch.Tensor:
    """Return a strided nested tensor of uninitialized `(length, width)` samples.

    torch's public functions copy existing data; the one for a buffer is private.
    """
    sizes = torch.tensor([[length, width] for length in lengths])
    steps = torch.tensor([[width, 1] for _ in lengths])
    counts = sizes.prod(1)
    buffer = torch.empty(int(counts.sum()), dtype=dtype, device="cpu")
    places = counts.cumsum(0) - counts
    return torch._nested_view_from_buffer(buffer, sizes, steps, places)


def get_function_modes() -> list[Any]:
    """Return the active function modes, ours and the program's; no public API does so.

    Example: `with torch.device("cuda"):` is a function mode.
    """
    depth = torch._C._len_torch_function_stack()
    return [torch._C._get_function_stack_at(index) for index in range(depth)]


@contextmanager
def suspend_modes() -> Iterator[None]:
    """Deactivate all function modes within the block; torch can only pop one by one."""
    with ExitStack() as stack:
        for _ in range(torch._C._len_torch_function_stack()):
            stack.enter_context(torch.overrides._pop_mode_temporarily())
        yield


any_autocast: Callable[[], bool] = getattr(
    torch._C, "_is_any_autocast_enabled", torch.is_autocast_enabled
)
"""Return whether autocast is on for any device; the public API takes one device."""


@cache
def is_autocast_function(name: str, kind: str) -> bool:
    """Return whether the autocast lists of this torch for `kind` contain `aten::name`.

    The lists grow from version to version (`rms_norm` after 2.6).
    """
    key = f"Autocast{kind.upper()}"
    return any(
        torch._C._dispatch_has_kernel_for_dispatch_key(operator_name, key)
        for operator_name in torch._C._dispatch_get_all_op_names()
        if operator_name.partition(".")[0] == f"aten::{name}"
    )


step_aside: list[Callable[[], AbstractContextManager[None]]] = []
"""Contexts that undo our patches of torch while torch's compiler is imported.

It compares the signatures of torch's own functions at import.
"""


@contextmanager
def patch_unless_aside(
    patch: Callable[[], None], unpatch: Callable[[], None]
) -> Iterator[None]:
    """Patch torch within the block, except inside the contexts of `step_aside`."""

    @contextmanager
    def unpatched() -> Iterator[None]:
        unpatch()
        try:
            yield
        finally:
            patch()

    patch()
    step_aside.append(unpatched)
    try:
        yield
    finally:
        step_aside.remove(unpatched)
        unpatch()


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
    had = "_dynamo" in vars(torch)
    try:
        yield
    finally:
        if sys.modules.get("torch._dynamo") is stand_in:
            del sys.modules["torch._dynamo"]
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

    def graph_break(self, *_: object, **__: object) -> None:
        """Do nothing; in torch 2.6, every step of an optimizer calls this function."""

    def __getattr__(self, name: str) -> Any:
        if name == "__file__":  # inspect asks every module; that is no use of it
            raise AttributeError(name)
        if name in ANSWERS and sys.modules.get(self.__name__) is self:
            return _StandInPart(self, name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
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


class _DeviceContext:
    """Access to the device that `torch.set_default_device` set in this thread."""

    @staticmethod
    def get() -> Any:
        return getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)

    @staticmethod
    def put(context: Any) -> None:
        if context is _DeviceContext.get():
            return
        if context is None:  # torch 2.6 asks whether it is there, not what it is
            del torch._GLOBAL_DEVICE_CONTEXT.device_context
        else:
            torch._GLOBAL_DEVICE_CONTEXT.device_context = context


device_context = _DeviceContext()
