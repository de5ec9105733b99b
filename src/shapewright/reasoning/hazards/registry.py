"""The kinds of hazards: what runs, but is likely not what was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shapewright.findings.finding import Finding
from shapewright.reasoning.hazards.scene import Scene

Kind = Callable[[Scene], Iterable[Finding]]
KINDS: dict[str, Kind] = {}
"""What finds each kind, by its code."""


def hazard(code: str) -> Callable[[Kind], Kind]:
    """Register the decorated function as what finds the hazards of a code."""

    def register(find: Kind) -> Kind:
        assert code not in KINDS, f"two kinds of {code}"
        KINDS[code] = find
        return find

    return register
