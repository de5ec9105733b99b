"""The types of tensors of GPUs, `torch.cuda.FloatTensor`, on a machine without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch

from shapewright.engine.dispatch.view_operators import LEGACY_TYPES
from shapewright.engine.replacement import copy_attributes, replace_attribute

PREFIX = "torch.cuda."


class _CudaType(type):
    """The class of such types; a tensor on a GPU with their dtype is an instance."""

    dtype: torch.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, torch.Tensor)
            and instance.is_cuda
            and instance.dtype == cls.dtype
        )

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], torch.Size):
            args = tuple(args[0])
        if len(args) == 1 and not isinstance(args[0], int):
            return torch.as_tensor(args[0]).to("cuda", cls.dtype)
        return torch.empty(args or (0,), dtype=cls.dtype, device="cuda")


def _replace_by(new: Any, _: Any) -> Any:
    return new


@contextmanager
def claim_legacy_types() -> Iterator[None]:
    """Let `torch.cuda.FloatTensor(3, 4)` and `x.type("torch.cuda.FloatTensor")` work as
    on a machine with a GPU.
    """
    types = {
        name: _CudaType(name, (), {"dtype": dtype, "__module__": "torch.cuda"})
        for name, dtype in LEGACY_TYPES.items()
    }
    cast: Any = torch.Tensor.type
    set_type = torch.set_default_tensor_type

    def to_type(self: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(dtype, str) and dtype.startswith(PREFIX):
            dtype = types.get(dtype.removeprefix(PREFIX), dtype)
        if isinstance(dtype, _CudaType):
            return self.to("cuda", dtype.dtype)
        return cast(self, dtype, *args, **kwargs)

    def replace_default(original: Any) -> Any:
        def set_default_tensor_type(t: Any) -> None:
            kind = types.get(t.removeprefix(PREFIX)) if isinstance(t, str) else t
            if isinstance(t, str) and not t.startswith(PREFIX):
                kind = t
            if isinstance(kind, _CudaType):
                torch.set_default_dtype(kind.dtype)
                torch.set_default_device("cuda")
            else:
                set_type(t)

        return set_default_tensor_type

    with ExitStack() as stack:
        for name, made_type in types.items():
            if name in vars(torch.cuda):
                stack.enter_context(
                    replace_attribute(torch.cuda, name, partial(_replace_by, made_type))
                )
        stack.enter_context(
            replace_attribute(torch, "set_default_tensor_type", replace_default)
        )
        if "type" not in vars(torch.Tensor):  # it is its base's
            setattr(torch.Tensor, "type", copy_attributes(to_type, cast))  # noqa: B010
            stack.callback(delattr, torch.Tensor, "type")
        yield
