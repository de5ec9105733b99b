"""Random generators on a claimed device: `torch.Generator(device="cuda")`.

torch makes one only where the device is; ours draws on the CPU, where the draws of a
run are made, and says that it stands elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine.devices import device_asked
from shapewright.engine.replacement import replaced

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


_GENERATOR: Any = torch.Generator


class _AsGenerator(type(_GENERATOR)):  # type: ignore[misc]
    """`isinstance(x, torch.Generator)` holds of generators from before the run."""

    def __instancecheck__(cls, value: Any) -> bool:
        return type.__instancecheck__(_GENERATOR, value)

    def __subclasscheck__(cls, kind: type) -> bool:
        return type.__subclasscheck__(_GENERATOR, kind)


@contextmanager
def generators_claimed(engine: Engine) -> Iterator[None]:
    """For the time of a run, a generator may claim to be on a GPU."""
    original: Any = torch.Generator

    class Generator(original, metaclass=_AsGenerator):  # type: ignore[misc]
        claimed = "cpu"

        def __new__(cls, device: Any = "cpu") -> Any:
            if get_ident() not in engine.threads:
                return original(device)
            claimed = device_asked(engine, device)
            if claimed == "cpu":
                return original()
            made = super().__new__(cls)
            made.claimed = claimed
            return made

        def __init__(self, device: Any = "cpu") -> None:
            pass

        @property
        def device(self) -> torch.device:
            return torch.device(self.claimed)

        def clone_state(self) -> Any:
            copy = type(self)(self.claimed)
            copy.set_state(self.get_state())
            return copy

    with replaced(torch, "Generator", lambda _: Generator):
        yield


def must_be_on(engine: Engine, generator: Any, device: str) -> None:
    """A tensor is drawn by a generator of its own device."""
    kind, asked = generator.device.type, device.partition(":")[0]
    if kind != asked and asked != "meta":
        engine.raise_theirs(
            RuntimeError(
                f"Expected a '{asked}' device type for generator but found '{kind}'"
            )
        )
