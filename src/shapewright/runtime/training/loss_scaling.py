"""Scalers of losses: without data nothing overflows, but the order of calls counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from shapewright.engine.replacement import replace_attribute

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState

UNSCALED, STEPPED = "unscaled", "stepped"

FACTORS: dict[str, float] = {
    "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000,
}  # fmt: skip
"""Settings of the growth of torch's scale, unless the program gives others."""


@contextmanager
def replace_grad_scalers(stage: RehearsalState) -> Iterator[None]:
    """Replace each `GradScaler` of torch by a class that needs no data."""
    places = [(torch.amp, "cuda"), (torch.cuda.amp, "cuda")]
    if hasattr(torch, "cpu") and hasattr(torch.cpu, "amp"):
        places.append((torch.cpu.amp, "cpu"))
    with ExitStack() as stack:
        for owner, device in places:
            kind = type("GradScaler", (_Scaler,), {"stage": stage, "device": device})
            stack.enter_context(
                replace_attribute(
                    owner, "GradScaler", partial(_return_replacement, kind)
                )
            )
        yield


def _return_replacement(kind: type, original: Any) -> type:
    """Return the replacement, ignoring the original."""
    return kind


class _Scaler:
    """A stand-in for `GradScaler` that scales by 1 and raises the same errors."""

    stage: ClassVar[RehearsalState]
    device = "cuda"

    def __init__(self, device: Any = None, *args: Any, **kwargs: Any) -> None:
        self.device = device if isinstance(device, str) else self.device
        missing = self.device == "cuda" and not torch.cuda.is_available()
        self.enabled = bool(kwargs.get("enabled", True)) and not missing
        self.factors: dict[str, float] = {
            name: kwargs.get(name, value) for name, value in FACTORS.items()
        }
        self.is_wanted = bool(kwargs.get("enabled", True))
        self.since_update = False  # whether it has scaled a loss since
        self.has_told_scale = False  # since then too: to the program
        self.divided: set[int] = set()  # optimizers whose gradients it unscaled
        self.stage.facts.clippings.scalers.append(self)
        self.scaled = False
        self.stages: dict[int, str] = {}
        self.checked: set[int] = set()

    def is_enabled(self) -> bool:
        return self.enabled

    def has_scaled(self, optimizer: Any) -> bool:
        """Return whether the gradients of an optimizer are still those of a scaled
        loss, and nobody has asked for the scale.
        """
        waits = self.is_wanted and self.since_update and not self.has_told_scale
        return waits and id(optimizer) not in self.divided

    def get_scale(self) -> float:
        self.has_told_scale = True
        return 65536.0 if self.enabled else 1.0

    def get_growth_factor(self) -> float:
        return self.factors["growth_factor"]

    def set_growth_factor(self, new_factor: float) -> None:
        self.factors["growth_factor"] = new_factor

    def get_backoff_factor(self) -> float:
        return self.factors["backoff_factor"]

    def set_backoff_factor(self, new_factor: float) -> None:
        self.factors["backoff_factor"] = new_factor

    def get_growth_interval(self) -> float:
        return self.factors["growth_interval"]

    def set_growth_interval(self, new_interval: int) -> None:
        self.factors["growth_interval"] = new_interval

    def scale(self, outputs: Any) -> Any:
        self.scaled = self.since_update = True
        if not isinstance(outputs, torch.Tensor):
            return outputs
        scaled = outputs * 1.0 if self.enabled else outputs
        self.stage.facts.scaled.note_scaled(scaled, self)
        return scaled

    def unscale_(self, optimizer: Any) -> None:
        self.stage.facts.clippings.before_scaled_step(optimizer)
        self.divided.add(id(optimizer))
        if not self.enabled:
            return
        self.must_have_scaled("unscale_")
        before = self.stages.get(id(optimizer))
        if before == UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last "
                "update()."
            )
        if before == STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        self.check(optimizer)
        self.stages[id(optimizer)] = UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        self.stage.facts.clippings.before_scaled_step(optimizer)
        if not self.enabled:
            return self.run_step(optimizer, *args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(
                "Closure use is not currently supported if GradScaler is enabled."
            )
        self.must_have_scaled("step")
        before = self.stages.get(id(optimizer))
        if before == STEPPED:
            raise RuntimeError(
                "step() has already been called since the last update()."
            )
        if before is None:
            self.check(optimizer)
        if id(optimizer) not in self.checked:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        out = self.run_step(optimizer, *args, **kwargs)
        self.stages[id(optimizer)] = STEPPED
        return out

    def run_step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Step an optimizer, whose gradients count as divided by the scale."""
        self.stage.facts.scaled.is_divided = True
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            self.stage.facts.scaled.is_divided = False

    def update(self, new_scale: Any = None) -> None:
        self.since_update = self.has_told_scale = False
        self.divided.clear()
        if not self.enabled:
            return
        self.must_have_scaled("update")
        if new_scale is None and not self.checked:
            raise AssertionError("No inf checks were recorded prior to update.")
        self.stages.clear()
        self.checked.clear()

    def must_have_scaled(self, asked: str) -> None:
        """Raise torch's error if the scaler has not scaled anything yet."""
        if not self.scaled:
            raise AssertionError(
                f"Attempted {asked} but _scale is None.  This may indicate your script "
                "did not use scaler.scale(loss or outputs) earlier in the iteration."
            )

    def check(self, optimizer: Any) -> None:
        """Check the gradients of an optimizer."""
        with torch._C.DisableTorchFunction():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    gradient = self.stage.grad(parameter)
                    if gradient is None:
                        continue
                    if gradient.dtype == torch.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    self.checked.add(id(optimizer))

    def state_dict(self) -> dict[str, Any]:
        if not self.enabled:
            return {}
        return {"scale": 65536.0, **self.factors, "_growth_tracker": 0}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        pass
