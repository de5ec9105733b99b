"""An op of a trace, called again and drawn: `sw.explain(trace.ops[n])`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import shapewright as sw
from shapewright.index_maps.drawn_calls import Drawn
from shapewright.record.ops import Op


def last_op(program: Callable[..., Any], *specs: str) -> Op:
    """The last op of a program, as it comes back from JSON."""
    trace = sw.trace(program, *specs)
    assert sw.Trace.from_json(trace.to_json()) == trace
    return sw.Trace.from_json(trace.to_json()).ops[-1]


def drawn(program: Callable[..., Any], *specs: str) -> Drawn:
    made = sw.explain(last_op(program, *specs)).drawn
    assert isinstance(made, Drawn)
    return made


def long(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.long)


PROGRAMS: dict[str, Callable[[Tensor], Any]] = {
    "out[i, j] = 1 - input[i, j]": lambda x: 1 - x,
    "out[i, j] = input[i, j] - 1": lambda x: x - 1,
    "out[i, j] = 2 / input[i, j]": lambda x: 2 / x,
    "out[i, j] = 2 ** input[i, j]": lambda x: 2**x,
    "out[i, j] = input[index[i, j], j]": lambda x: torch.gather(
        x, dim=0, index=long(2, 6)
    ),
    "out[i, j] = input[i, index.1[j]]": lambda x: x[:, long(3)],
    "out[i, j, k] = input[i, 2*k + 1]": lambda x: x[:, None, 1:4:2],
    "out[i] = input[i, 5]": lambda x: x[..., -1],
    "out[i, j] = input[index.0[i], j]": lambda x: x[long(2), :],
    "out[i, j] = tensors.0[i, j]": lambda x: torch.cat([x, x + 1]),
    "out[i, j] = input[j, i]": lambda x: x.permute((1, 0)),
    "out[i, j] = relu(input[i, j])": lambda x: F.relu(input=x),
    "out[i, j] = sum over k < 6": lambda x: torch.einsum("ik,jk->ij", x, x + 1),
    "out[i, j] = amax over k < 6": lambda x: x.amax(dim=(1,), keepdim=True),
    "out[i, j] = input[i, 0]": lambda x: x[:, :1].expand(4, 5),
    "out[i, j] = add(": lambda x: torch.add(x, x, alpha=2),
}


@pytest.mark.parametrize("formula", PROGRAMS)
def test_a_call_is_rebuilt_from_its_record(formula: str) -> None:
    made = drawn(PROGRAMS[formula], "f32[4, 6]")
    assert made.error == ""
    assert made.reason == ""
    assert made.checked > 0
    text = str(sw.explain(last_op(PROGRAMS[formula], "f32[4, 6]")))
    start = formula.partition(" = ")[0]
    assert start in text


@pytest.mark.parametrize(
    "formula", [one for one in PROGRAMS if one.count("[") > 1 and "0]" not in one]
)
def test_the_formula_is_that_of_the_call(formula: str) -> None:
    text = str(sw.explain(last_op(PROGRAMS[formula], "f32[4, 6]")))
    assert formula in text.replace("2.0", "2")


def test_metadata_is_that_of_the_run() -> None:
    def program(x: Tensor) -> Tensor:
        return x[1:, ::2].t()

    made = drawn(program, "f32[4, 6]")
    (side,) = made.inputs
    assert (side.shape, side.stride, side.offset) == ((3, 3), (6, 2), 6)
    assert made.outputs[0].shares == "input"
    assert (made.outputs[0].stride, made.outputs[0].offset) == ((2, 6), 6)


def test_a_tensor_in_two_places_has_the_same_values() -> None:
    made = drawn(lambda x: x @ x, "f32[3, 3]")
    assert made.inputs[0].values == made.inputs[1].values
    assert made.checked == 9


@pytest.mark.parametrize(
    ("program", "spec", "said"),
    [
        (lambda x: x.masked_select(x > 0), "f32[40]", "depends on values"),
        (lambda x, n: x.repeat_interleave(n), "f32[4], i64[4]", "depends on values"),
        (lambda x: torch.linalg.cholesky(x), "f32[3, 3]", "values that were made up"),
        (lambda x: x.split([1] * 120), "f32[120]", "only the start of its argument"),
        (lambda x: torch.nn.GRU(3, 4)(x)[0], "f32[2, 1, 3]", "no formula is known"),
    ],
)
def test_what_is_not_drawn_says_why_and_shows_the_shapes_of_the_run(
    program: Callable[..., Any], spec: str, said: str
) -> None:
    op = last_op(program, spec)
    made = sw.explain(op).drawn
    assert isinstance(made, Drawn)
    assert said in made.reason
    assert made.maps == ()
    assert made.error == ""
    assert [side.shape for side in made.outputs] == [fact.shape for fact in op.outputs]


def test_what_the_run_supposed_is_said() -> None:
    text = str(sw.explain(last_op(lambda x: x[x > 0], "f32[40]")))
    assert "assumed in the run: a mask of unknown data keeps half: 20 of 40" in text


def test_a_call_that_failed_is_drawn_as_it_failed() -> None:
    def program(x: Tensor) -> Tensor:
        return F.linear(x, torch.empty(5, 7))

    op = sw.trace(program, "f32[2, 6]").ops[-1]
    assert op.outputs == ()
    text = str(sw.explain(op))
    assert "`linear` needs 7 input features, got 6" in text


def test_nothing_of_torchs_state_changes() -> None:
    op = last_op(lambda x: x @ x, "f32[3, 3]")
    state = torch.get_rng_state()
    sw.explain(op)
    assert torch.equal(torch.get_rng_state(), state)


def test_large_tensors_are_shown_where_an_element_is_read() -> None:
    made = sw.explain(last_op(lambda x: x.relu(), "f32[8, 64, 56, 56]"))
    text = str(made)
    assert "checked: equal to torch at 64 elements" in text
    assert "out[4, 32, 28, 28] = " in text
    assert max(map(len, text.splitlines())) <= 80
    text = str(sw.explain(last_op(lambda x: x.sum(), "f32[300, 300]")))
    assert "each element of out comes from 90,000 others" in text


def test_a_record_of_other_names_calls_nothing() -> None:
    op = last_op(lambda x: x.relu(), "f32[3]")
    for name in ("torch.load", "torch.hub.load", "os.system", "torch.os.system"):
        made = sw.explain(Op(**{**fields(op), "function": name})).drawn
        assert isinstance(made, Drawn)
        assert made.reason == f"`{name}` has no index map"


def fields(op: Op) -> dict[str, Any]:
    return {name: getattr(op, name) for name in Op.__dataclass_fields__}


def test_the_record_says_where_tensors_stand() -> None:
    op = last_op(lambda x: torch.gather(x, dim=0, index=long(2, 6)), "f32[4, 6]")
    assert op.places == ("0", "index")
    assert last_op(lambda x: torch.cat([x, x]), "f32[2]").places == ("0.0", "0.1")
    assert last_op(lambda x: x + x, "f32[2]").places == ()
    assert last_op(lambda x: 1 - x, "f32[2]").function == "torch.Tensor.__rsub__"
    assert last_op(lambda x: x - 1, "f32[2]").function == ""


def test_the_table_of_ops_has_the_number_on_its_side() -> None:
    def program(x: Tensor) -> Tensor:
        return (1 - x) - 2

    text = str(sw.options(by="op").trace(program, "f32[2]"))
    assert "1 -" in text
    assert "- 2" in text
