"""Importing this module registers the needs of every operator family, and a need for
each remaining function of one tensor.
"""

from __future__ import annotations

from typing import Any

from shapewright.operators import import_families
from shapewright.operators.dtype_needs import of_dtype
from shapewright.operators.failed_calls import Unmet
from shapewright.operators.metadata_rules import RULES, Meta, Rule
from shapewright.operators.needs_registry import NEEDS, needs
from shapewright.operators.pointwise import activation_shapes, shapes

FAMILIES = (shapes.__name__, activation_shapes.__name__)
"""The modules that hold the rules for functions of one tensor."""

import_families("needs")


def _register() -> None:
    """Register a need for every rule of one tensor that has none yet."""
    for rule in {id(rule): rule for rule in RULES.values()}.values():
        family = rule.metadata.__module__
        left = [name for name in rule.names if name not in NEEDS]
        if family in FAMILIES and left:
            needs(*left)(_of_one(rule))


def _of_one(rule: Rule) -> Any:
    """Return a need that checks the dtype of the argument of a one-tensor function."""

    def one(input: Meta, *rest: Any, **options: Any) -> Unmet | None:
        return of_dtype(rule, input, rest, options)

    return one


_register()
