"""A call that was traced, for what its trace measures later.

It is small to import: every trace has one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from shapewright.record.memory import Memory

MOST_ELEMENTS = 1 << 16
"""Elements of the largest input that is kept with its values."""


class TracedCall:
    """The target and the inputs of a trace, for `trace.memory`.

    It keeps no model alive and no tensor of the caller's. Of numbers with a fraction
    and of large inputs it has no values. A copy in another process has no model.
    """

    def __init__(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        is_module = hasattr(target, "named_modules")
        self.target: Callable[[], Any] = ref(target) if is_module else lambda: target
        self.args = tuple(map(_copy_input, args))
        self.kwargs = {name: _copy_input(value) for name, value in kwargs.items()}

    def __call__(self, **options: Any) -> Memory:
        """Return the memory of a step; options as in `shapewright.memory`."""
        from shapewright.commands.memory import (
            MemoryOptions,
            list_texts,
            measure_model,
        )

        target = self.target()
        if target is None:
            raise ValueError("the traced model is gone: write `sw.memory(model, ...)`")
        options["what_if"] = list_texts(options.get("what_if", False))
        settings = MemoryOptions(**options)
        return measure_model(target, self.args, self.kwargs, settings)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(None), ()


def _copy_input(value: Any) -> Any:
    """Return a copy of a tensor, without values where no step reads them; anything else
    as it is.
    """
    if not hasattr(value, "untyped_storage"):
        return value
    is_read = value.numel() <= MOST_ELEMENTS and not value.is_floating_point()
    is_plain = str(value.layout) == "torch.strided" and not value.is_nested
    if is_read or not is_plain:
        return value.detach().clone().requires_grad_(value.requires_grad)
    return value.detach().to("meta").requires_grad_(value.requires_grad)
