"""Names of operators stand in their families; another list of them has a reason."""

from __future__ import annotations

import ast
import builtins
import math
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType, MethodDescriptorType

import pytest
import torch
from torch.overrides import get_overridable_functions

import shapewright
from shapewright.operators import facts

SOURCE = Path(shapewright.__file__).parent

ELSEWHERE = {
    "index_maps/costs.py METADATA": "below operators: the calls that cost nothing",
    "index_maps/costs.py COUNTED": "below operators: the words for terms of index maps",
    "index_maps/index_map.py SIGNS": "below operators: the language of index maps",
    "program/loop_counters.py JOINS": "below operators: functions of numpy's too",
    "program/runnable_definitions.py METHODS": "below operators: words in the text",
    "views/argument_names.py SIGNATURES": "views work without torch",
    "engine/device_kernels.py _REFORMATTED": "torch's kernels by their own names",
    "inputs/spec_parser.py _FILLS": "the words of input specs",
    "inputs/search/stated_inputs.py PASSING": "words between a tensor and its name",
}
"""Lists of operators outside `operators/`, and why each is not a fact."""

PYTHON = {*dir(builtins), *dir(math)}
DTYPES = {name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)}
DEVICES = {"cpu", "cuda", "hpu", "ipu", "meta", "mps", "mtia", "xla", "xpu"}
OTHERS = PYTHON | DTYPES | DEVICES
"""Names that are not torch's alone: no matter whether a list has them."""


def operators() -> set[str]:
    """The functions that a function mode sees, and those that torch binds in C++."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        overridable = get_overridable_functions().values()
    names = {getattr(each, "__name__", "") for group in overridable for each in group}
    for owner in (torch, torch.Tensor, torch._C._nn, torch._C._linalg, torch._C._fft):
        kinds = (BuiltinFunctionType, MethodDescriptorType)
        for name in dir(owner):
            if isinstance(getattr(owner, name, None), kinds):
                names.add(name)
    return {name for name in names - OTHERS if not name.startswith("__")}


OPERATORS = operators()


def names_in(node: ast.AST) -> list[str]:
    """The strings of a set, tuple, list, split text or dict with plain values."""
    items: list[ast.expr | None] = []
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".split"):
        assert isinstance(node.func, ast.Attribute)
        text = node.func.value
        parts = text.values if isinstance(text, ast.JoinedStr) else [text]
        words = [each.value for each in parts if isinstance(each, ast.Constant)]
        return " ".join(word for word in words if isinstance(word, str)).split()
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        items = [*node.elts]
    elif isinstance(node, ast.Dict):
        plain = ast.Constant | ast.Tuple | ast.UnaryOp
        items = [*node.keys] if all(isinstance(v, plain) for v in node.values) else []
    found = [each.value for each in items if isinstance(each, ast.Constant)]
    return [name for name in found if isinstance(name, str)]


def lists_of(tree: ast.Module) -> Iterator[str]:
    """The names of constants and functions with a list of three or more operators."""
    for top in tree.body:
        name = getattr(top, "name", "")
        if isinstance(top, ast.Assign | ast.AnnAssign):
            target = top.targets[0] if isinstance(top, ast.Assign) else top.target
            name = ast.unparse(target)
        for node in ast.walk(top):
            names = {each for each in names_in(node) if not each.startswith("__")}
            count = len(names & OPERATORS)
            if count >= 3 and 2 * count > len(names - OTHERS):
                yield name


def test_lists_of_operators_are_facts() -> None:
    found = [
        f"{path.relative_to(SOURCE)} {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] != "operators"
        for name in lists_of(ast.parse(path.read_text("utf-8")))
    ]
    assert sorted(set(found)) == sorted(ELSEWHERE)
    assert len(ELSEWHERE) < 10


def test_a_list_of_operators_is_found() -> None:
    for text in (
        "A = ('cat', 'stack', 'sum', 'einsum')",
        "A = frozenset('cat stack einsum'.split())",
        "A = {'cat': 1, 'stack': 2, 'einsum': 3}",
        "def f(name):\n    return name in ('cat', 'stack', 'einsum')",
    ):
        assert list(lists_of(ast.parse(text))) in (["A"], ["f"]), text
    for text in (
        "A = ('float32', 'float', 'int', 'bool', 'half')",
        "A = ('cpu', 'cuda', 'sum', 'sqrt', 'pow')",
        "A = {'cat': draw_cat, 'stack': draw_stack, 'einsum': draw_einsum}",
    ):
        assert list(lists_of(ast.parse(text))) == [], text


def test_an_operator_belongs_to_one_family() -> None:
    families: dict[str, set[str]] = defaultdict(set)
    for family in facts.FAMILIES:
        for names in family.FACTS.values():
            for name in names if isinstance(names, dict) else names.split():
                families[name].add(family.__name__)
    assert {name: f for name, f in families.items() if len(f) > 1} == {}
    folders = {path.parent.name for path in (SOURCE / "operators").glob("*/shapes.py")}
    declared = {family.__name__.rpartition(".")[2] for family in facts.FAMILIES}
    assert folders <= declared


def test_each_fact_is_declared_and_asked_for() -> None:
    declared = {fact for family in facts.FAMILIES for fact in family.FACTS}
    assert declared == set(facts.MEANINGS)
    files = [
        path for path in SOURCE.rglob("*.py") if "operators" not in path.parts[-3:]
    ]
    text = "\n".join(path.read_text("utf-8") for path in files)
    for fact in facts.MEANINGS:
        kind = fact.removesuffix("_cpu").removesuffix("_cuda")
        assert f'"{fact}"' in text or f'"{kind}_{{kind}}"' in text, fact


def test_an_unknown_fact_is_refused() -> None:
    with pytest.raises(KeyError, match="no fact is called is_veiw"):
        facts.operators_with("is_veiw")


def test_facts_load_no_rules() -> None:
    program = (
        "import sys, shapewright.operators.facts\n"
        "print(*[m for m in sys.modules if m.startswith('shapewright.operators.')])\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    families = {family.__name__ for family in facts.FAMILIES}
    assert set(done.stdout.split()) == families | {facts.__name__}
