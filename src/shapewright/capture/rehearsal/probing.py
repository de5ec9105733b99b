"""Losses of two dtypes: some run forward, and are refused in the backward pass only.

Data-free kernels take any two dtypes there. Each pair is tried once on real numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from shapewright.capture.names import plain_name

if TYPE_CHECKING:
    from shapewright.capture.rehearsal.turns import Stage


class Probes:
    """What was tried in a run, and what torch said."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.event = 0
        self.known: dict[Any, str | None] = {}

    def before_backward(self) -> None:
        """Tell the losses since the last pass whose backward torch refuses."""
        engine = self.stage.engine
        events, self.event = engine.events[self.event :], len(engine.events)
        for answer, ins, _, _, _ in events:
            name = "" if isinstance(answer.func, str) else plain_name(answer.func)
            if not name.endswith("_loss") or len(ins) != 2:
                continue
            one, other = ins[0].meta, ins[1].meta
            if one.dtype == other.dtype or not one.requires_grad:
                continue
            key = answer.func, one.torch_dtype, other.torch_dtype
            if key not in self.known:
                self.known[key] = refused(*key)
            said = self.known[key]
            if said is not None:
                engine.find(
                    "dtype-mismatch",
                    f"the backward pass of `F.{name}` needs both in {one.dtype}, the "
                    f"target is {other.dtype}",
                    said,
                )


def refused(func: Any, one: torch.dtype, other: torch.dtype) -> str | None:
    """What torch says in the backward pass of a loss of two dtypes."""
    with torch._C.DisableTorchFunction(), torch.enable_grad():
        given = torch.ones(2, dtype=one).requires_grad_()
        try:
            loss = func(given, torch.ones(2).to(other))
        except Exception:
            return None  # forward was asked already
        try:
            loss.sum().backward()
        except RuntimeError as error:
            return str(error)
    return None
