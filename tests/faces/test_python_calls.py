"""What Python calls return, show and raise in a REPL and in tests."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from torch import nn

import shapewright as sw
from shapewright.api import check_target
from shapewright.inputs.errors import InputError
from shapewright.record.report import FindingsError

NET = nn.Sequential(
    nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 26 * 26, 10)
)
TRACE = sw.trace(NET, "f32[8, 1, 28, 28]")


def test_records_show_themselves_in_a_line() -> None:
    assert repr(TRACE.output) == "f32[8, 10]"
    assert repr(TRACE) == (
        "<Trace of Sequential: f32[8, 1, 28, 28] -> f32[8, 10], 4 ops, 5 module calls; "
        "print() shows the table>"
    )
    assert repr(TRACE.op("relu")) == (
        "<op 1: F.relu f32[8, 6, 26, 26] -> f32[8, 6, 26, 26] in `1`>"
    )
    assert repr(TRACE.module("3")) == "<3 (Linear): f32[8, 4056] -> f32[8, 10]>"
    assert repr(TRACE.states[0]) == "<parameter 0.weight: f32[6, 1, 3, 3]>"
    free = sw.formulas(NET, "f32[B, 1, 28, 28]")
    assert repr(free.output) == "f32[B, 10]"


def test_a_trace_prints_by_op_and_by_module() -> None:
    assert "F.conv2d" in str(TRACE.by("op"))
    assert "F.conv2d" not in str(TRACE.by("module")).partition("parameters")[0]
    assert TRACE.by("op") == TRACE
    with pytest.raises(ValueError, match="not by 'layer'"):
        TRACE.by("layer")  # type: ignore[arg-type]


def test_rows_are_flat_and_have_the_totals() -> None:
    rows = TRACE.rows()
    assert len(rows) == 5
    assert {type(value) for row in rows for value in row.values()} <= {str, int}
    assert rows[0]["params"] == TRACE.totals.parameters
    assert [row["op"] for row in TRACE.rows("op")] == [0, 1, 2, 3]
    assert TRACE.rows("op")[3]["output"] == "f32[8, 10]"
    assert len({tuple(row) for row in TRACE.rows("op")}) == 1


def test_a_report_is_asked_whether_it_is_ok() -> None:
    good = sw.check(NET, "f32[8, 1, 28, 28]")
    assert good.ok
    good.raise_if_errors()
    bad = sw.check(NET, "f32[8, 1, 30, 30]")
    assert not bad.ok
    with pytest.raises(FindingsError, match="needs 4056 input features, got 4704"):
        bad.raise_if_errors()
    with pytest.raises(TypeError, match=r"report\.ok"):
        bool(bad)


def test_options_are_keywords_that_an_editor_shows() -> None:
    names = list(inspect.signature(sw.options).parameters)
    assert names == ["timeout", "by", "values", "verify", "inside", "memo"]
    assert "F.conv2d" in str(sw.options(by="op").trace(NET, "f32[8, 1, 28, 28]"))


class Fixed(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(2, -1)


class Two(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.mean(0), x.argmax(1)


@pytest.mark.parametrize(
    ("model", "spec"),
    [
        (NET, "f32[8, 1, 28, 28] -> f32[8, 10]"),
        (NET, "f32[B, 1, 28, 28] -> f32[B, 10]"),
        (NET, "f32[B=3, 1, 28, 28] -> f32[B, 10]"),
        (nn.Conv2d(3, 8, 3, padding=1), "f32[B, 3, H, W] -> f32[B, 8, H, W]"),
        (Two(), "f32[B, 5] -> f32[5], i64[B]"),
        (lambda a, b: a @ b, "f32[B, 3], f32[3, 4] -> f32[B, 4]"),
    ],
)
def test_shapes_that_are_so_are_asserted(model: object, spec: str) -> None:
    assert sw.assert_shapes(model, spec).complete


@pytest.mark.parametrize(
    ("model", "spec", "said"),
    [
        (NET, "f32[8, 1, 28, 28] -> f32[8, 11]", r"output 0 is f32\[8, 10\], not "
                                                 r"f32\[8, 11\]"),
        (NET, "f32[8, 1, 28, 28] -> f64[8, 10]", "not f64"),
        (NET, "f32[8, 1, 30, 30] -> f32[8, 10]", "does not run: .*cannot be "
                                                 "multiplied"),
        (Fixed(), "f32[B, 4, 6] -> f32[B, 24]", "output 0 is"),
        (Two(), "f32[B, 5] -> f32[5]", "returns 2 tensors, not 1"),
    ],
)  # fmt: skip
def test_shapes_that_are_not_so_are_refused(
    model: object, spec: str, said: str
) -> None:
    with pytest.raises(AssertionError, match=said):
        sw.assert_shapes(model, spec)


def test_a_spec_without_an_arrow_says_what_to_write() -> None:
    with pytest.raises(InputError, match="->"):
        sw.assert_shapes(NET, "f32[8, 1, 28, 28]")
    with pytest.raises(InputError, match="no input has the letter `C`"):
        sw.assert_shapes(NET, "f32[B, 1, 28, 28] -> f32[B, C]")


def test_a_table_has_the_rows_and_columns_asked_for() -> None:
    deep = TRACE.table(depth=0)
    assert "4 modules inside these not shown" in deep
    first = TRACE.table(sort="params", columns=["module", "params"]).splitlines()[2:4]
    assert [line.split() for line in first] == [
        ["module", "params"],
        ["3", "40.6", "k"],
    ]
    assert "F.conv2d" in TRACE.table("op")
    with pytest.raises(ValueError, match="no column `shape`; there is module"):
        TRACE.table(columns=["shape"])
    with pytest.raises(ValueError, match="not sorted by `size`; there is params"):
        TRACE.table(sort="size")
    with pytest.raises(ValueError, match="did you mean `flops`"):
        TRACE.table("op", sort="flop")
    with pytest.raises(ValueError, match="ops have no levels"):
        TRACE.table("op", depth=1)
    with pytest.raises(ValueError, match="not by line"):
        TRACE.table("line", columns=["module"])
    with pytest.raises(InputError, match=r"trace\.table\(depth=\.\.\.\)"):
        sw.trace(NET, "f32[8, 1, 28, 28]", depth=1)


@pytest.mark.parametrize(
    ("owner", "name", "said"),
    [
        (sw, "summary", r"sw\.trace\(model"), (sw, "chek", r"sw\.check"),
        (sw, "nothing_like_it", "no attribute"),
        (TRACE, "to_dataframe", r"pandas\.DataFrame\(trace\.rows\(\)\)"),
        (TRACE, "to_dict", r"json\.loads"), (TRACE, "zzz", "has no `zzz`"),
    ],
)  # fmt: skip
def test_names_of_other_tools_say_what_to_write(
    owner: object, name: str, said: str
) -> None:
    with pytest.raises(AttributeError, match=said):
        getattr(owner, name)


def test_one_tensor_is_reached_without_an_index() -> None:
    assert [op.output.shape for op in TRACE.ops][-1] == (8, 10)
    assert [call.input.shape[0] for call in TRACE.modules] == [8] * 5
    assert [call.parameters for call in TRACE.modules] == [0, 60, 0, 0, 40570]
    split = sw.trace(lambda x: x.split(2), "f32[4]")
    with pytest.raises(ValueError, match="has 2 outputs: see `outputs`"):
        _ = split.ops[0].output
    assert repr(TRACE.totals).startswith("<Totals: 40,630 parameters, ")


def test_a_report_is_gone_through(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("from torch import nn\nnet = nn.Linear(4, 2)\n\n\n"
                    "def f(x):\n    return net(x)\n")  # fmt: skip
    report = check_target(f"{file}:f", "f32[3, 5]")
    assert len(report) == 1
    assert [(finding.file, finding.line) for finding in report] == [(str(file), 6)]
