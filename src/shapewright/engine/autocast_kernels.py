"""Let `torch.autocast` act on meta tensors, below every call, in a scope.

Autocast is a key of torch's dispatcher for each kind of device, and `meta` has none. So
a spare key of a kind of device that no build of torch has takes the kernels of the
claimed device: each operator for which this torch has a kernel of autocast there gets
one here that casts alike. That also concerns composite operators in C++ and what a
checkpoint computes again. Nothing is registered before autocast is first switched on,
and all is removed at the end of the scope.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.utils.checkpoint

from shapewright.engine.autocast import (
    FULL,
    LOWER,
    REFUSED,
    UNSAFE,
    WIDEST,
    claim_cuda_autocast,
    is_castable,
)
from shapewright.engine.dispatch_keys import DispatchKeySwitch, list_kernels
from shapewright.engine.replacement import replace_attribute

SPARE_KEYS = ("AutocastIPU", "AutocastHPU")
"""Keys of devices that need a build of torch of their own."""


@contextmanager
def use_autocast(kind: str) -> Iterator[bool]:
    """Let `torch.autocast(kind)` act on meta tensors; false if this torch cannot.

    Example: under ``use_autocast("cuda")`` and ``torch.autocast("cuda")``, `F.linear`
    of meta tensors in float32 gives float16, on a machine without a GPU too.
    """
    switch = DispatchKeySwitch.find(SPARE_KEYS)
    if switch is None:
        yield False
        return
    casts = _Casts(kind, switch)

    def follow(original: Callable[..., Any]) -> Callable[..., Any]:
        def set_autocast_enabled(*args: Any, **kwargs: Any) -> Any:
            output = original(*args, **kwargs)
            casts.follow_state()
            return output

        return set_autocast_enabled

    def clear(original: Callable[[], None]) -> Callable[[], None]:
        def clear_autocast_cache() -> None:
            casts.cache.clear()
            original()

        return clear_autocast_cache

    with ExitStack() as stack:
        stack.callback(casts.remove)
        if kind == "cuda":
            stack.enter_context(claim_cuda_autocast())
            stack.enter_context(_claim_cuda_checkpoints())
        for name, make in (
            ("set_autocast_enabled", follow),
            ("clear_autocast_cache", clear),
        ):
            stack.enter_context(replace_attribute(torch, name, make))
        casts.follow_state()
        yield True


@contextmanager
def _claim_cuda_checkpoints() -> Iterator[None]:
    """Let checkpoints put back the autocast of CUDA for meta tensors.

    They keep the state of the kind of device of their operands, and autocast has none
    for `meta`.
    """

    def infer(original: Callable[..., str]) -> Callable[..., str]:
        def infer_device_type(*args: Any) -> str:
            kind = original(*args)
            return "cuda" if kind == "meta" else kind

        return infer_device_type

    if "_infer_device_type" not in vars(torch.utils.checkpoint):
        yield
        return
    with replace_attribute(torch.utils.checkpoint, "_infer_device_type", infer):
        yield


class _Casts:
    """The kernels of autocast for one kind of device, and its casts of weights."""

    def __init__(self, kind: str, switch: DispatchKeySwitch) -> None:
        self.kind = kind
        self.switch = switch
        self.library: torch.library.Library | None = None
        self.cache: dict[int, tuple[weakref.ref[torch.Tensor], torch.Tensor]] = {}

    def follow_state(self) -> None:
        """Switch the kernels on or off, as autocast is."""
        enabled = torch.is_autocast_enabled(self.kind)
        if enabled and self.library is None:
            self.library = torch.library.Library("aten", "IMPL")
            self._register(self.library)
        self.switch.set(enabled)

    def remove(self) -> None:
        """Remove all kernels."""
        self.switch.reset()
        self.cache.clear()
        if self.library is not None:
            self.library._destroy()

    def _register(self, library: torch.library.Library) -> None:
        """Register a kernel for each that torch has for the device."""
        for operator in list_kernels(f"Autocast{self.kind.upper()}"):
            kernel = self._build_kernel(operator)
            if kernel is not None:
                library.impl(operator, kernel, self.switch.name)

    def _build_kernel(self, operator: Any) -> Callable[..., Any] | None:
        """Return a kernel that casts and calls the operator; None if none is known."""
        name = operator._schema.name.removeprefix("aten::")
        cast: Callable[[Any, Any], tuple[Any, Any]]
        arguments = [argument.name for argument in operator._schema.arguments]
        if name in LOWER[self.kind]:
            cast = self._cast_to_lower
        elif name in WIDEST[self.kind]:
            cast = self._cast_to_widest
        elif name in FULL[self.kind] and self.kind == "cuda" and "dtype" in arguments:
            cast = self._build_dtype_cast(arguments.index("dtype"))
        elif name in FULL[self.kind] and self.kind == "cuda" and name == "norm":
            return self._build_norm(operator)
        elif name in FULL[self.kind]:
            cast = self._cast_to_full
        elif name in REFUSED[self.kind]:
            cast = self._refuse
        else:
            return None

        def run(*args: Any, **kwargs: Any) -> Any:
            with self.switch.suspended():
                args, kwargs = cast(args, kwargs)
                return operator(*args, **kwargs)

        return run

    # -- casts -------------------------------------------------------------------------

    def _is_castable(self, value: Any) -> bool:
        """Return whether a tensor counts as one of the device, of a dtype to cast."""
        return (
            isinstance(value, torch.Tensor)
            and (value.is_meta or (self.kind == "cuda" and value.dim() > 0))
            and is_castable(value.dtype)
        )

    def _cast(self, value: Any, dtype: torch.dtype) -> Any:
        if isinstance(value, tuple | list):
            return type(value)(self._cast(item, dtype) for item in value)
        if not self._is_castable(value) or value.dtype == dtype:
            return value
        if not self._is_cached(value, dtype):
            return value.to(dtype)
        key = id(value)
        known = self.cache.get(key)
        if known is None or known[0]() is not value:
            known = self.cache[key] = weakref.ref(value), value.to(dtype)
        return known[1]

    def _is_cached(self, tensor: torch.Tensor, dtype: torch.dtype) -> bool:
        """Return whether the cast of a weight is kept until autocast ends.

        The condition is that of `cached_cast` in `ATen/autocast_mode.cpp`.
        """
        return (
            dtype == torch.get_autocast_dtype(self.kind)
            and tensor.dtype == torch.float32
            and tensor.requires_grad
            and tensor.is_leaf
            and not tensor._is_view()
            and torch.is_autocast_cache_enabled()
        )

    def _cast_all(self, args: Any, kwargs: Any, dtype: torch.dtype) -> tuple[Any, Any]:
        """Cast the last argument first, as the compiler of torch's builds does.

        Backward goes through the casts in the opposite order.
        """
        named = {
            name: self._cast(kwargs[name], dtype) for name in reversed(list(kwargs))
        }
        cast = [self._cast(value, dtype) for value in reversed(args)]
        return tuple(reversed(cast)), named

    def _cast_to_lower(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        return self._cast_all(args, kwargs, torch.get_autocast_dtype(self.kind))

    def _cast_to_full(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        return self._cast_all(args, kwargs, torch.float32)

    def _cast_to_widest(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        lower = torch.get_autocast_dtype(self.kind)
        dtypes = {tensor.dtype for tensor in self._list_castable((args, kwargs))}
        widest = torch.float32 if dtypes - {lower} else lower
        return self._cast_all(args, kwargs, widest)

    def _list_castable(self, value: Any) -> Iterator[torch.Tensor]:
        if isinstance(value, tuple | list):
            for item in value:
                yield from self._list_castable(item)
        elif isinstance(value, dict):
            yield from self._list_castable(list(value.values()))
        elif self._is_castable(value):
            yield value

    def _refuse(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        raise RuntimeError(UNSAFE)

    def _build_dtype_cast(self, place: int) -> Callable[[Any, Any], tuple[Any, Any]]:
        """Return a cast that names float32 as the dtype of the result.

        The operand stays as it is: `softmax` of float16 makes no copy of it.
        """

        def cast(args: Any, kwargs: Any) -> tuple[Any, Any]:
            if not self._is_castable(args[0]):
                return args, kwargs
            if place < len(args):
                stated = torch.float32 if args[place] is None else args[place]
                return (*args[:place], stated, *args[place + 1 :]), kwargs
            if kwargs.get("dtype") is None:
                kwargs = {**kwargs, "dtype": torch.float32}
            return args, kwargs

        return cast

    def _build_norm(self, operator: Any) -> Callable[..., Any]:
        """Return `norm`, which takes its dtype as a further argument."""
        norm: Any = torch.ops.aten.norm
        takes_dims = operator is norm.ScalarOpt_dim

        def run(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            with self.switch.suspended():
                if not self._is_castable(tensor):
                    return operator(tensor, *args, **kwargs)
                if not takes_dims:
                    power = args[0] if args else kwargs.get("p", 2)
                    return norm.ScalarOpt_dtype(tensor, power, dtype=torch.float32)
                names = ("p", "dim", "keepdim")
                stated = {**dict(zip(names, args, strict=False)), **kwargs}
                return norm.ScalarOpt_dim_dtype(
                    tensor, stated["p"], stated["dim"], stated.get("keepdim", False),
                    dtype=torch.float32,
                )  # fmt: skip

        return run
