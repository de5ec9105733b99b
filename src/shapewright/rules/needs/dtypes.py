"""What functions of one tensor need of its dtype: their metadata rules say it."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Meta, Rule
from shapewright.rules.needs.by_rule import of_dtype
from shapewright.rules.needs.registry import NEEDS, needs
from shapewright.rules.needs.unmet import Unmet
from shapewright.rules.registry import RULES

FAMILIES = ("unary", "activation", "dropout")


def register() -> None:
    """Every rule of one tensor that no other need answers for."""
    for rule in {id(rule): rule for rule in RULES.values()}.values():
        family = rule.metadata.__module__.rpartition(".")[2]
        left = [name for name in rule.names if name not in NEEDS]
        if family in FAMILIES and left:
            needs(*left)(of_one(rule))


def of_one(rule: Rule) -> Any:
    """The need of one function of one tensor."""

    def one(input: Meta, *rest: Any, **options: Any) -> Unmet | None:
        return of_dtype(rule, input, rest, options)

    return one


register()
