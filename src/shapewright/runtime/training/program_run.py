"""The run of a program that trains, as everything that watches it sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from shapewright.engine.identity import BLANK
from shapewright.record.report import Place

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine
    from shapewright.engine.module_calls import Calls
    from shapewright.runtime.training.story import Story


class Meet(Protocol):
    """Who notes what is met in a training, once for each place."""

    def __call__(
        self, kind: str, place: Place, other: Place | None = None, name: str = ""
    ) -> None: ...


@dataclass(slots=True)
class ProgramRun:
    """A program that runs: on which engine, its calls of modules, and its story."""

    engine: Engine
    calls: Calls
    story: Story

    def here(self) -> Place:
        """The line of the program that runs."""
        return self.story.line(self.engine)

    def grad(self, parameter: Any) -> Any:
        """The gradient of a parameter: of its stand-in, where it has values."""
        engine = self.engine
        given = engine.grads.get(id(parameter))
        if given is not None:
            return given
        if not parameter.is_meta and engine.info(parameter).kind != BLANK:
            twin = engine.info(parameter).twin
            return None if twin is None else twin.grad
        return parameter.grad
