"""What was proven of a program's sizes, statement by statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PROVEN, REFUTED, UNDECIDED = "proven", "refuted", "not decided"


@dataclass(frozen=True, slots=True)
class Statement:
    """One formula or demand, and whether it holds for all sizes.

    `text` is what is stated, ``(B, 16, (H - 12)//4)`` or ``H % 16 == 0``; `place` of
    what, ``output`` or a module's path, empty for a demand. `verdict` is "proven",
    "refuted", with `sizes` at which it does not hold, or "not decided"; `detail` says
    for which sizes, or why not.
    """

    text: str
    place: str
    verdict: str
    detail: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        """``proven``, ``refuted at B=2, H=33``, ``not decided``."""
        if not self.sizes:
            return self.verdict
        at = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        return f"{self.verdict} at {at}"


@dataclass(frozen=True, slots=True)
class Proof:
    """The statements, and what the proof rests on.

    `runs` counts torch's symbolic runs; `covered` says for which sizes each of them
    holds, ``B >= 2, H >= 16``.
    """

    statements: tuple[Statement, ...]
    runs: int
    covered: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether every statement is."""
        return all(each.verdict == PROVEN for each in self.statements)
