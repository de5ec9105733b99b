"""A target made callable, and the inputs that its author declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shapewright.inputs.example import Candidate
from shapewright.inputs.lookup import is_module
from shapewright.inputs.program import Program

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True)
class Loaded:
    """A target, ready to be called.

    `callable` is what the inputs are given to: a module, a method, a function, an
    object with `__call__`. `module` is the `nn.Module` that it belongs to, if any;
    `method` is "forward" or the method's name. `examples` are the inputs that the
    model's author or library declares, best first. `program` must be entered
    (``with loaded.program.running()``) while the target runs.
    """

    callable: Callable[..., Any]
    module: nn.Module | None
    name: str
    file: str | None
    method: str
    program: Program
    examples: tuple[Candidate, ...] = ()
    config: Any = None
    notes: tuple[str, ...] = field(default=())

    @property
    def said(self) -> str:
        """What the inputs are given to, in a message: `Net.forward`, `loss`."""
        if self.module is not None:
            return f"{type(self.module).__name__}.{self.method}"
        return self.name


def loaded_object(
    found: Callable[..., Any],
    name: str,
    program: Program,
    file: str | None = None,
    examples: tuple[Candidate, ...] = (),
    config: Any = None,
    notes: tuple[str, ...] = (),
) -> Loaded:
    """`Loaded` for an object that can be called."""
    owner = owner_of(found)
    module = owner if is_module(owner) else None
    method = "forward"
    if module is not found:
        method = getattr(found, "__name__", "__call__")
    return Loaded(found, module, name, file, method, program, examples, config, notes)


def owner_of(found: Any) -> Any:
    """The module that an object is, or that a bound method belongs to."""
    return found if is_module(found) else getattr(found, "__self__", None)


def declared_by(model: Any) -> list[Candidate]:
    """What the model's author declares on the model itself.

    `example_input_array` is Lightning's name for it, `dummy_inputs` transformers'.
    """
    found = []
    if getattr(model, "example_input_array", None) is not None:
        found.append(
            Candidate("its `example_input_array`", lambda: model.example_input_array)
        )
    if inspect.getattr_static(model, "dummy_inputs", None) is not None:
        found.append(
            Candidate("its `dummy_inputs`", lambda: _called(model.dummy_inputs))
        )
    return found


def _called(found: Any) -> Any:
    return found() if callable(found) else found
