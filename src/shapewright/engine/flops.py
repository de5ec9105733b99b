"""FLOPs of what torch runs below a call, by torch's own formulas."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import FunctionType
from typing import TYPE_CHECKING, Any

from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from shapewright.engine import autocast
from shapewright.engine.function_names import plain_name

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


class _Counter(TorchDispatchMode):
    """Adds up the formulas of the kernels below one call.

    `casts` is the kind of device by whose lists autocast casts their operands.
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
            args, kwargs = autocast.below(name, self.casts, (args, kwargs or {}))
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


def counted(
    engine: Engine,
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    casts: str | None = None,
) -> tuple[Any, int | None]:
    """Run a call on data-free tensors and count what its kernels would compute."""
    counter = _Counter(casts)
    above = casts is not None and engine.graph and _is_of_python(func)
    with counter, _casting(counter) if above else nullcontext():
        out = func(*args, **kwargs)
    return out, counter.flops


def _is_of_python(func: Any) -> bool:
    """Whether a function of torch is Python, made of calls that can be seen."""
    return isinstance(func, FunctionType) and func.__globals__ is vars(functional)


class _Casting(TorchFunctionMode):
    """Casts the operands of what a function calls, where autograd sees it."""

    def __init__(self, counter: _Counter) -> None:
        super().__init__()
        self.counter = counter

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name, kind = plain_name(func), self.counter.casts
        if kind is None or not autocast.listed(name, kind):
            return func(*args, **(kwargs or {}))
        args, kwargs = autocast.below(name, kind, (args, kwargs or {}))
        self.counter.casts = None  # what it is made of is left alone
        try:
            return func(*args, **kwargs)
        finally:
            self.counter.casts = kind


@contextmanager
def _casting(counter: _Counter) -> Iterator[None]:
    """A Python function of torch runs its own text, each call in it as autocast's.

    Below autograd a cast comes too late: a backward pass would meet two dtypes.
    """
    names = [name for name in vars(functional) if name.startswith("has_torch_function")]
    with ExitStack() as stack:
        for name in names:  # else it hands itself to the mode, which is off within
            stack.callback(setattr, functional, name, getattr(functional, name))
            setattr(functional, name, lambda *args: False)
        stack.enter_context(_Casting(counter))
        yield
