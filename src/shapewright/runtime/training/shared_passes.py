"""Steps with the gradients of a loss that another optimizer has already used: those of
a discriminator's loss, which went through the samples into the generator.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from shapewright.record.report import Place
from shapewright.runtime.training.gradient_clipping import Gradient


class _GradientFacts(Protocol):
    """What is known of the gradients of a run."""

    watched: list[Any]

    def present(self, parameters: Iterable[Any]) -> list[Gradient]: ...
    def is_as_before(self, gradient_entry: Gradient) -> bool: ...
    def meet(
        self, kind: str, place: Place, other: Place | None = None, name: str = ""
    ) -> None: ...


@dataclass(slots=True)
class _Passes:
    """The backward passes that reached an optimizer's parameters since they were
    cleared, and those of them whose gradients another optimizer has used.
    """

    places: list[Place] = field(default_factory=list)
    used_by: dict[Place, int] = field(default_factory=dict)


class SharedPasses:
    """The backward passes whose gradients wait in each optimizer."""

    def __init__(self, facts: _GradientFacts) -> None:
        self.facts = facts
        self.passes: dict[int, _Passes] = {}
        self.before: dict[int, list[Gradient]] = {}

    def before_backward(self) -> None:
        """Note the gradients that there are."""
        self.before = {
            id(watched): self.facts.present(watched.parameters())
            for watched in self.facts.watched
        }

    def after_backward(self, place: Place) -> None:
        """Note which optimizers a backward pass has reached."""
        for watched in self.facts.watched:
            before = self.before.get(id(watched), [])
            now = self.facts.present(watched.parameters())
            if not before:
                self.passes.pop(id(watched), None)
            if now and not (before and all(map(self.facts.is_as_before, before))):
                self.passes.setdefault(id(watched), _Passes()).places.append(place)

    def before_step(self, watched: Any, place: Place) -> None:
        """Note which passes an optimizer uses, and report what another has used."""
        own = self.passes.get(id(watched))
        if own is None:
            return
        for first, user in own.used_by.items():
            later = [other for other in own.places if other != first]
            reached = self.passes.get(user, _Passes()).places
            if any(other in reached for other in later):
                self.facts.meet("shared-pass", first, place, watched.name)
        last = own.places[-1]
        for other_key, other in self.passes.items():
            if other_key != id(watched) and last in other.places:
                other.used_by[last] = id(watched)

    def clear(self, cleared: set[int]) -> None:
        """Note that the gradients of some parameters are cleared."""
        for watched in self.facts.watched:
            if any(id(parameter) in cleared for parameter in watched.parameters()):
                self.passes.pop(id(watched), None)
