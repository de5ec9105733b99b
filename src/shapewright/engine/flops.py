"""FLOP counts of the kernels below a call, by torch's own formulas."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import FunctionType
from typing import TYPE_CHECKING, Any

from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from shapewright.engine import autocast
from shapewright.engine.function_names import get_plain_name
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


OPERATORS = operators_with("computes_each_element", "broadcasts_operands") - {"dist"}
ELEMENTWISE = {
    f"{before}{name.strip('_')}"
    for name in (*OPERATORS, "truediv", "and", "or", "xor")
    for before in ("", "i", "r")
}
OF_ELEMENTS = operators_with(
    "joins_tensors", "concatenates", "reduces_dims", "normalizes_along_dim"
)
UNCOUNTED = ELEMENTWISE | OF_ELEMENTS | {"getitem"}
"""Calls that no formula counts; the mode that counts makes `add_` a hundred times as
slow."""


class _Counter(TorchDispatchMode):
    """Dispatch mode that sums the FLOPs of the kernels below a call.

    `casts` is the device type whose autocast lists apply to their operands.
    """

    def __init__(self, casts: str | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.flops: int | None = None
        self.casts = casts
        from torch.utils.flop_counter import flop_registry

        self.registry = flop_registry

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if self.casts is not None:
            name = func._overloadpacket.__name__
            args, kwargs = autocast.cast_for_kernel(
                name, self.casts, (args, kwargs or {})
            )
        formula = self.registry.get(func._overloadpacket)
        if formula is None:  # in inference mode composites arrive whole
            with self:
                out = func.decompose(*args, **(kwargs or {}))
            if out is not NotImplemented:
                return out
        out = func(*args, **(kwargs or {}))
        if formula is not None:
            count = formula(*args, **(kwargs or {}), out_val=out)
            self.flops = (self.flops or 0) + int(count)
        return out


def count_flops(
    engine: Engine,
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    casts: str | None = None,
) -> tuple[Any, int | None]:
    """Run a call on data-free tensors and return its result and its FLOPs."""
    if casts is None and (
        not engine.counts_flops or get_plain_name(func).strip("_") in UNCOUNTED
    ):
        return func(*args, **kwargs), None
    counter = _Counter(casts)
    above = casts is not None and engine.graph and _is_of_python(func)
    with counter, _cast_inner_calls(counter) if above else nullcontext():
        out = func(*args, **kwargs)
    return out, counter.flops


def _is_of_python(func: Any) -> bool:
    """Return whether a function is Python code in `torch.nn.functional`."""
    return isinstance(func, FunctionType) and func.__globals__ is vars(functional)


class _Casting(TorchFunctionMode):
    """Function mode that casts operands above autograd, so backward sees the cast."""

    def __init__(self, counter: _Counter) -> None:
        super().__init__()
        self.counter = counter

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name, kind = get_plain_name(func), self.counter.casts
        if kind is None or not autocast.is_listed(name, kind):
            return func(*args, **(kwargs or {}))
        args, kwargs = autocast.cast_for_kernel(name, kind, (args, kwargs or {}))
        self.counter.casts = None  # no casts inside this call
        try:
            return func(*args, **kwargs)
        finally:
            self.counter.casts = kind


@contextmanager
def _cast_inner_calls(counter: _Counter) -> Iterator[None]:
    """Run the body of a Python function of torch with autocast on every inner call.

    Below autograd a cast comes too late: a backward pass would meet two dtypes.
    """
    names = [name for name in vars(functional) if name.startswith("has_torch_function")]
    with ExitStack() as stack:
        for name in names:  # else it passes itself to the mode, off in here
            stack.callback(setattr, functional, name, getattr(functional, name))
            setattr(functional, name, lambda *args: False)
        stack.enter_context(_Casting(counter))
        yield
