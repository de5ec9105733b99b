"""Operators as methods, in place, and as Python operators, on torch's samples."""

from __future__ import annotations

from itertools import chain
from typing import Any

from zoo.operators import checked
from zoo.samples import forms, operators, samples


def names() -> list[str]:
    """Operators that have another form."""
    return [name for name in operators() if forms(name)]


def check(name: str) -> dict[str, Any]:
    """All samples of an operator through each of its other forms."""
    return checked(chain.from_iterable(samples(name, form) for form in forms(name)))
