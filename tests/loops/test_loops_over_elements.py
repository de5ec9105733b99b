"""Each naive loop is named with what does it at once, and that does the same."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import shapewright as sw
from shapewright.findings import Finding
from shapewright.record.ops import SHORT
from tests.loops import naive

Shape = tuple[int, ...]


def r(*shape: int) -> Tensor:
    return torch.randn(shape)


def below(high: int, *shape: int) -> Tensor:
    return torch.randint(high, shape)


CASES: list[tuple[Callable[..., Any], tuple[Tensor, ...], str]] = [
    (naive.gather_rows, (r(12, 9), below(12, 7, 9)), "out = torch.gather(x, 0, index)"),
    (
        naive.gather_in_three_dims,
        (r(5, 3, 4), below(3, 5, 10, 4)),
        "picked = torch.gather(source, 1, where)",
    ),
    (
        naive.gather_by_a_number,
        (r(7, 12), below(12, 7, 9)),
        "out = torch.gather(x, 1, index)",
    ),
    (
        naive.scatter_added,
        (below(12, 7, 9), r(7, 9)),
        "out.scatter_add_(0, index, src)",
    ),
    (
        naive.scattered,
        (torch.rand(7, 9).argsort(1), r(7, 9)),
        "out.scatter_(1, index, src)",
    ),
    (
        naive.rows_added_by_index,
        (r(30, 5), below(10, 30)),
        "out.index_add_(0, group, x)",
    ),
    (
        naive.counted,
        (below(10, 30),),
        "count += torch.bincount(labels, minlength=10)",
    ),
    (naive.one_hot, (below(10, 30),), "hot[torch.arange(30), labels] = 1"),
    (naive.looked_up, (r(100, 8), below(100, 5, 6)), "out = table[ids]"),
    (
        naive.chosen_of_each_row,
        (r(30, 10), below(10, 30)),
        "out = x[torch.arange(30), y]",
    ),
    (naive.row_added, (r(20, 5), r(5)), "out = x + b"),
    (naive.row_added_elsewhere, (r(20, 5), r(20, 5), r(5)), "out[:] = x + b"),
    (naive.columns_scaled, (r(6, 32), r(32)), "out = x * w"),
    (naive.part_doubled, (r(40, 3),), "out[10:30] = x[10:30] * 2"),
    (naive.differences, (r(13, 3),), "out = x[1:] - x[:12]"),
    (naive.enumerated, (r(32, 5), r(5)), "out = torch.relu(x) * b + 1"),
    (naive.batched_products, (r(9, 4, 5), r(9, 5, 6)), "out = a @ w"),
    (naive.heads, (r(8, 10, 4), r(8, 12, 4)), "scores = q @ k.mT * 0.5"),
    (naive.matrix_product, (r(6, 7), r(7, 8)), "out = a @ b"),
    (naive.matrix_product_by_a_sum, (r(9, 5), r(4, 5)), "out = a @ b.T"),
    (
        naive.contracted,
        (r(2, 4, 5, 3), r(2, 5), r(3)),
        "out = torch.einsum('iklj,il,j->ijk', x, y, z)",
    ),
    (naive.distances, (r(11, 6), r(13, 6)), "out = ((x[:, None] - y) ** 2).sum(-1)"),
    (naive.summed, (r(20, 5),), "total = x.sum(0)"),
    (naive.transposed, (r(11, 13),), "out = x.T"),
    (
        naive.padding_mask,
        (below(21, 8),),
        "mask = torch.arange(20) < lengths[:, None]",
    ),
    (
        naive.causal_mask,
        (),
        "mask = torch.where(torch.arange(n) < (torch.arange(n) + 1)[:, None], "
        "0.0, mask)",
    ),
    (naive.again_and_again, (r(20, 5), r(5)), "out += x * b"),
    (naive.one_column, (r(20, 5),), "out[:, 2] = x[:, 3] + 1"),
    (
        naive.windows,
        (r(12), r(3)),
        "out = x[torch.arange(10) + torch.arange(3)[:, None]].T @ w",
    ),
    (naive.in_a_loop_of_layers, (r(3, 20), r(20)), "out[b] = x[b] + y"),
]

IN_PLACE_OF = [
    (
        naive.stacked_rows,
        (r(20, 6), r(6)),
        "table + offsets",
        "torch.stack([line + offsets for line in table])",
    ),
    (
        naive.appended_rows,
        (r(20, 6), r(6)),
        "F.relu(x * b)",
        "torch.stack(rows)",
    ),
    (
        naive.stacked_products,
        (r(9, 4, 5), r(9, 5, 6)),
        "lefts @ rights",
        "torch.stack([a @ b for a, b in zip(lefts, rights, strict=True)])",
    ),
]


def spec(tensor: Tensor) -> str:
    dtype = SHORT[str(tensor.dtype).removeprefix("torch.")]
    return f"{dtype}[{', '.join(map(str, tensor.shape))}]"


def noted(function: Callable[..., Any], given: tuple[Tensor, ...]) -> Finding:
    trace = sw.trace(function, *map(spec, given)) if given else sw.trace(function)
    assert trace.complete
    (finding,) = trace.findings
    assert (finding.code, finding.severity) == ("python-loop", "note")
    return finding


def program(function: Callable[..., Any]) -> str:
    return textwrap.dedent(inspect.getsource(function))


def run(text: str, function: Callable[..., Any], given: tuple[Tensor, ...]) -> Any:
    space = dict(vars(naive))
    exec(compile(text, "replaced.py", "exec"), space)
    return space[function.__name__](*[tensor.clone() for tensor in given])


def without_the_loop(function: Callable[..., Any], line: int, instead: str) -> str:
    """The function's text with the loop that begins at `line` of its file replaced."""
    text = program(function)
    line -= inspect.getsourcelines(function)[1] - 1
    (loop,) = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.For) and node.lineno == line
    ]
    lines = text.splitlines()
    lines[line - 1 : loop.end_lineno] = [" " * loop.col_offset + instead]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("function", "given", "instead"),
    CASES,
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_loop_has_its_replacement(
    function: Callable[..., Any], given: tuple[Tensor, ...], instead: str
) -> None:
    finding = noted(function, given)
    assert f" times: `{instead}` does it at once" in finding.message
    assert finding.message.endswith("checked on random elements")
    (loop,) = finding.related
    replaced = without_the_loop(function, loop.span.line, instead)
    slow = run(program(function), function, given)
    torch.testing.assert_close(run(replaced, function, given), slow)


@pytest.mark.parametrize(
    ("function", "given", "instead", "whole"),
    IN_PLACE_OF,
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_list_that_is_stacked_has_its_replacement(
    function: Callable[..., Any], given: tuple[Tensor, ...], instead: str, whole: str
) -> None:
    finding = noted(function, given)
    assert f"`{instead}` in place of `{whole}` does it at once" in finding.message
    replaced = program(function).replace(whole, instead)
    assert replaced != program(function)
    slow = run(program(function), function, given)
    torch.testing.assert_close(run(replaced, function, given), slow)


def test_the_finding_says_how_often_and_where() -> None:
    finding = noted(naive.gather_rows, (r(12, 9), below(12, 7, 9)))
    assert finding.message.startswith("`out[i, j] = x[index[i, j], j]` ran 63 times: ")
    assert finding.count == 63
    first = inspect.getsourcelines(naive.gather_rows)[1]
    assert finding.span is not None
    assert (finding.span.line, finding.span.column) == (first + 4, 13)
    assert finding.related[0].span.line == first + 2


def test_the_innermost_sum_is_what_is_quoted() -> None:
    finding = noted(naive.matrix_product_by_a_sum, (r(9, 5), r(4, 5)))
    assert finding.message.startswith("`s += a[i, k] * b[j, k]` ran 180 times: ")


def test_a_loop_in_a_module_reads_its_parameters() -> None:
    trace = sw.trace(naive.Dense(), "f32[4, 5]")
    (finding,) = trace.findings
    assert "`out = x @ self.weight.T + self.bias` does it at once" in finding.message


def test_a_scatter_says_what_it_needs() -> None:
    finding = noted(naive.scattered, (torch.rand(7, 9).argsort(1), r(7, 9)))
    assert "at once where no place is written twice, checked" in finding.message


def test_indices_are_made_where_the_tensors_are() -> None:
    cuda = ("f32[30, 10]@cuda", "i64[30]@cuda")
    (finding,) = sw.trace(naive.chosen_of_each_row, *cuda).findings[-1:]
    assert "x[torch.arange(30, device=" in finding.message


def test_real_tensors_whose_values_are_known_are_noted_too() -> None:
    trace = sw.trace(naive.gather_rows, r(12, 9), below(12, 7, 9))
    assert [finding.code for finding in trace.findings] == ["python-loop"]


def test_the_note_is_in_the_record() -> None:
    trace = sw.trace(naive.row_added, "f32[20, 5]", "f32[5]")
    assert sw.Trace.from_json(trace.to_json()).findings == trace.findings


def test_a_saved_record_is_enough_to_find_the_loop() -> None:
    from shapewright.analysis.python_loops import find_python_loops
    from shapewright.runtime.operator_calls.loop_trials import is_same

    trace = sw.trace(naive.row_added, "f32[20, 5]", "f32[5]")
    saved = sw.Trace.from_json(trace.to_json())
    assert find_python_loops(saved, is_same) == tuple(trace.findings)


def test_random_numbers_of_the_program_are_as_they_were() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    sw.trace(naive.row_added, "f32[20, 5]", "f32[5]")
    assert torch.equal(torch.get_rng_state(), before)
