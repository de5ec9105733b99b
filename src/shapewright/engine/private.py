"""Private APIs of torch on which the engine relies, with the reason for each.

They are looked up by feature, not by version, and every patch is undone after a run.
"""

from __future__ import annotations

import os
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


is_transformed: Callable[[torch.Tensor], bool] = (
    torch._C._functorch.is_functorch_wrapped_tensor
)
"""Return whether vmap, grad or another functorch transform wraps a tensor.

There is no public test, and a wrapper's strides and values are not its own.
"""


unwrapped: Callable[[torch.Tensor], torch.Tensor] = torch._C._functorch.get_unwrapped
"""Return the tensor that the innermost transform wraps."""


@cache
def disable_gpus() -> None:
    """Let CUDA find no GPU in this process, whatever the machine has.

    The first backward pass, also one without data, starts a thread for each GPU that
    CUDA counts; then no forked process can make a backward pass, so that no fix could
    be tried. Counting them takes seconds, and may be refused. CUDA counts once and
    keeps the number, so the environment is as before when this returns.
    """
    count = getattr(torch._C, "_cuda_getDeviceCount", None)
    if count is None:  # torch was built without CUDA
        return
    before = {name: os.environ.get(name) for name in VISIBLE_GPUS}
    os.environ.update(dict.fromkeys(VISIBLE_GPUS, ""))
    try:
        count()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


VISIBLE_GPUS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""The environment variables that say which GPUs a process sees; empty, none."""


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


def is_batched(tensor: torch.Tensor) -> bool:
    """Return whether a tensor stands, inside `torch.vmap`, for those of all samples."""
    while is_transformed(tensor):
        if torch._C._functorch.is_batchedtensor(tensor):
            return True
        tensor = unwrapped(tensor)
    return False


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
