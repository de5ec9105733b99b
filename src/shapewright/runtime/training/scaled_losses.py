"""Steps that use the gradients of a scaled loss as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shapewright.record.report import Place

if TYPE_CHECKING:
    from shapewright.runtime.training.story import Meet, ProgramRun


class ScaledLosses:
    """The losses that a gradient scaler has scaled, and the passes from them."""

    def __init__(self, run: ProgramRun, meet: Meet) -> None:
        self.run = run
        self.meet = meet
        self.scalers: dict[int, tuple[Any, Any]] = {}  # by a tensor, which is held
        self.passes: list[tuple[Place, Any]] = []  # with their scalers, or None
        self.seen: dict[int, int] = {}  # passes before an optimizer's last step
        self.is_divided = False  # a scaler steps

    def note_scaled(self, loss: Any, scaler: Any) -> None:
        """Note that a scaler has scaled a loss."""
        self.scalers[self.run.engine.info(loss).number] = scaler, loss

    def before_backward(self, loss: Any) -> None:
        """Note whether a backward pass begins at a scaled loss."""
        entry = self.scalers.pop(self.run.engine.info(loss).number, None)
        scaler = entry[0] if entry is not None else None
        self.passes.append((self.run.here(), scaler))

    def before_step(self, optimizer: Any, name: str) -> None:
        """Note a step on gradients that only backward passes of scaled losses made."""
        passes = self.passes[self.seen.get(id(optimizer), 0) :]
        self.seen[id(optimizer)] = len(self.passes)
        if self.is_divided or not passes:
            return
        if all(s is not None and s.has_scaled(optimizer) for _, s in passes):
            self.meet("scaled-step", self.run.here(), passes[-1][0], name)
