"""FLOPs of what torch runs below a call, by torch's own formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils._python_dispatch import TorchDispatchMode

from shapewright.capture import autocast

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine


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
    with counter:
        out = func(*args, **kwargs)
    return out, counter.flops
