"""Nested tensors, which are refused with a word.

One with `layout=torch.jagged` has a size that is no number (torch's `NestedInt`), which
neither our records nor our arithmetic can hold; it ended the process. A strided one has
no form without data: the first layer that it met raised "NestedTensorImpl doesn't
support sizes", which is not the program's error. Both are refused where the program
makes them; one that was made before the run, at the first call that does not take it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import nests
from shapewright.engine.private import INNER_NESTED_MAKERS
from shapewright.engine.replacement import replaced

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

MAKERS = (
    (torch.nested, "nested_tensor"),
    (torch.nested, "as_nested_tensor"),
    (torch.nested, "nested_tensor_from_jagged"),
    (torch.nested, "narrow"),
    (torch.nested, "masked_select"),
    *INNER_NESTED_MAKERS,
)
ADVICE = (
    "trace the model with padded sequences and a mask, whose shapes are those of the "
    "pieces"
)


PADDED = "_sw_padded"
"""The attribute of a nested tensor that stands for a batch with padding: the batch."""


class NotFollowed(NotImplementedError):
    """The program does what a run without data cannot follow, and torch can."""


def refusal(error: Exception, args: Any, kwargs: Any) -> Exception:
    """What to raise where torch raised `error`: a word of ours for nested tensors."""
    if isinstance(error, NotFollowed) or not has_nested(args, kwargs):
        return error
    return NotFollowed(
        f"shapewright does not follow nested tensors through this call: {ADVICE}"
    )


def has_nested(args: Any, kwargs: Any) -> bool:
    """Whether a nested tensor that we do not follow is among the arguments of a call.

    Those that torch's encoder makes of a padding mask are followed.
    """
    with torch._C.DisableTorchFunction():
        return any(
            tensor.is_nested and not hasattr(tensor, PADDED)
            for tensor in nests.tensors((args, kwargs or {}))
        )


@contextmanager
def nested_tensors_refused(engine: Engine) -> Iterator[None]:
    """For the time of a run."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(*args: Any, **kwargs: Any) -> Any:
            if get_ident() in engine.threads:
                engine.raise_theirs(
                    NotFollowed(f"shapewright does not follow nested tensors: {ADVICE}")
                )
            return original(*args, **kwargs)

        return refuse

    with ExitStack() as stack:
        for owner, name in MAKERS:
            if name in vars(owner):  # not in every torch
                stack.enter_context(replaced(owner, name, make))
        yield
