"""Nested tensors, which are refused where the program makes them.

One with `layout=torch.jagged` has a size that is no number (torch's `NestedInt`), which
neither our records nor our arithmetic can hold; it ended the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch

from shapewright.capture.replacement import replaced

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine

MAKERS = (
    "nested_tensor", "as_nested_tensor", "nested_tensor_from_jagged", "narrow",
    "masked_select",
)  # fmt: skip
ALWAYS_JAGGED = frozenset({"nested_tensor_from_jagged", "masked_select"})


@contextmanager
def nested_tensors_refused(engine: Engine) -> Iterator[None]:
    """For the time of a run; a nested tensor that is strided is left to torch."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any, **kwargs: Any) -> Any:
            jagged = (
                original.__name__ in ALWAYS_JAGGED
                or kwargs.get("layout") is torch.jagged
                or torch.jagged in [each for each in args if type(each) is torch.layout]
            )
            if jagged and get_ident() in engine.threads:
                engine.raise_theirs(
                    NotImplementedError(
                        "shapewright does not follow nested tensors with "
                        "`layout=torch.jagged`: trace the model with padded sequences "
                        "and a mask, whose shapes are those of the pieces"
                    )
                )
            return original(*args, **kwargs)

        return made

    with ExitStack() as stack:
        for name in MAKERS:
            if name in vars(torch.nested):
                stack.enter_context(replaced(torch.nested, name, make))
        yield
