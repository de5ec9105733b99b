"""Names of functions: a verb with its object; a predicate begins with `is_`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import shapewright

SOURCE = Path(shapewright.__file__).parent

VERBS = set(
    """
    add adopt age allow answer append apply ask assume attach attempt bind block
    broadcast build cache call cast catch change check choose claim clamp classify
    coalesce collect compare compile compute confine connect continue convert copy
    count create cut decide delay describe detach disable divide double draw drop
    end evaluate expand explain fill find finish fix flatten follow format freeze
    get give group guard guess hold hook ignore import install intern interpret iter
    join keep learn leave lengthen limit list load make map materialize memoize mend
    move multiply name nest normalize note observe pad parse pass patch perform
    place poison prepare put raise rank read rebuild recall receive record redirect
    refresh refuse register release remember remove repeat replace replay report require
    resize resolve restore return reword round run save search seed select send set
    settle shorten silence skip slow split spread start substitute suggest suppose
    suspend swap take tame trace track try unbind undo unravel unwrap update use
    visit wait walk watch wrap write
    """.split()
)

PREDICATES = {"is", "has", "can"}

CONVERSIONS = {"as", "to", "with"}
"""Of an object to another kind, or to a copy that differs in one thing."""

BY_PROTOCOL = {"of_elements", "of_steps", "stored"}
"""Functions of a module that stands for an object with these methods."""


@pytest.mark.parametrize("folder", ["engine", "inputs", "runtime"])
def test_a_function_is_named_by_what_it_does(folder: str) -> None:
    odd = [
        f"{path.relative_to(SOURCE)}: {node.name}"
        for path in sorted((SOURCE / folder).rglob("*.py"))
        if path.parent.name != "stand_ins"  # named as other packages name them
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not is_verb_with_object(node.name)
    ]
    assert odd == []


def is_verb_with_object(name: str) -> bool:
    verb, _, thing = name.strip("_").partition("_")
    known = verb in VERBS | PREDICATES | CONVERSIONS
    return name in BY_PROTOCOL or (known and thing != "")
