"""The one index of a file: nodes, definitions and values by place and by name."""

from __future__ import annotations

import ast

import pytest

from shapewright.program.expression_values import (
    UnknownValue,
    evaluate_node,
    evaluate_whole_number,
)
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import iter_assignments, iter_own_nodes

TEXT = """\
class Net:
    def __init__(self, width=64):
        self.größe = nn.Linear(width, 2 * 8)

    @torch.no_grad()
    def forward(self, x):
        for row in x:
            total = (
                row + 1
            )

        def inner(y):
            z = y

        return self.größe(total)


net = Net(32)
"""
FILE = SourceText("net.py", TEXT)


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def test_a_text_is_parsed_once_whatever_its_file_is_called() -> None:
    tree = SourceText("net.py", TEXT).tree
    assert SourceText("other.py", TEXT).tree is tree


def test_a_node_is_found_by_its_span_in_characters() -> None:
    span = Span("net.py", 3, 22, 3, 45)
    node = FILE.node(span)
    assert isinstance(node, ast.Call)
    assert FILE.span(node) == span
    assert FILE.written(node) == "nn.Linear(width, 2 * 8)"


def test_what_contains_a_node() -> None:
    (node,) = [n for n in FILE.nodes if isinstance(n, ast.BinOp) and n.lineno == 9]
    around = FILE.around(node, ast.FunctionDef)
    assert around is not None
    assert around.name == "forward"
    assert FILE.statement_of(node).lineno == 8
    assert [type(each).__name__ for each in FILE.outwards(node)] == [
        "Assign", "For", "FunctionDef", "ClassDef", "Module",
    ]  # fmt: skip


def test_definitions_have_qualified_names() -> None:
    assert [name for name, _ in FILE.definitions()] == [
        "Net", "Net.__init__", "Net.forward", "Net.forward.inner",
    ]  # fmt: skip
    assert [name for name, _ in FILE.functions("inner")] == ["Net.forward.inner"]


@pytest.mark.parametrize(
    ("line", "lines"), [(9, (8, 10)), (5, (5, 6)), (7, (7, 7)), (11, (11, 11))]
)
def test_the_statement_at_a_line(line: int, lines: tuple[int, int]) -> None:
    assert FILE.statement_lines(line) == lines


def test_a_text_that_is_no_program_has_no_nodes() -> None:
    broken = SourceText("a.py", "def f(:\n    pass\n")
    assert broken.tree is None
    assert broken.nodes == ()
    assert broken.definitions() == []
    assert broken.statement_lines(2) == (2, 2)


def test_the_values_that_a_name_is_given() -> None:
    assert [FILE.written(each) for each in find_defining(FILE, "width")] == ["64", "32"]


def test_assignments_and_nodes_of_one_function() -> None:
    ((_, forward),) = FILE.functions("forward")
    targets = [ast.unparse(target) for target, _ in iter_assignments(forward)]
    assert targets == ["total", "z"]
    assert [ast.unparse(t) for t, _ in iter_assignments(forward, before=10)] == [
        "total"
    ]
    names = [node.id for node in iter_own_nodes(forward) if isinstance(node, ast.Name)]
    assert "total" in names
    assert "z" not in names


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16 * 5 * 5", 400), ("-(2 ** 3) // 3", -3), ("n * 2", None), ("1 // 0", None),
        ("True", None), ("2.0 * 3", None), ("9 ** 9 ** 9", None), ("'a' * 3", None),
    ],
)  # fmt: skip
def test_whole_numbers(text: str, value: int | None) -> None:
    assert evaluate_whole_number(expression(text)) == value


def test_a_value_is_computed_from_what_is_known() -> None:
    names = {"n": 3}
    node = expression("(2 * n + 1, [n % 2, 'a'])")
    assert evaluate_node(node, lambda name: names[ast.unparse(name)]) == (7, [1, "a"])
    with pytest.raises(UnknownValue):
        evaluate_node(expression("f(2) + 1"))
