"""Tensors in text: what torch formats, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.rehearsing.rehearsed import rehearsed

TENSORS = {
    "total": "layer(x).sum()",
    "rows": "layer(x)",
    "one": "layer(x).mean().reshape(1)",
    "bias": "layer.bias",
    "scale": "nn.Parameter(torch.tensor(2.0))",
    "known": "torch.arange(3)",
    "number": "torch.tensor(3)",
}
FORMATS = ("", ".2f", ">20", "d", "+.3e")


def real(made: str, how: str) -> str:
    """What torch says to a format: nothing, or the error's words."""
    x, layer = torch.randn(2, 4), torch.nn.Linear(4, 3)
    names = {"x": x, "layer": layer, "nn": torch.nn, "torch": torch}
    try:
        format(eval(made, names), how)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize("name", TENSORS)
def test_text_is_refused_where_torch_refuses_it(
    tmp_path: Path, name: str, how: str
) -> None:
    text = f"""\
        import torch
        from torch import nn

        x, layer = torch.randn(2, 4), nn.Linear(4, 3)
        {name} = {TENSORS[name]}
        text = "{{:{how}}}".format({name})
        print(layer(torch.randn(2, 5)))
    """
    report = rehearsed(tmp_path, text)
    words = real(TENSORS[name], how)
    lines = [each.span.line for each in report.findings if each.span]
    if not words:
        assert lines == [7]
        return
    first = report.findings[0]
    assert lines[0] == 6
    assert words in (first.message, first.torch_message)


def test_a_script_goes_on_after_a_format_that_is_refused(tmp_path: Path) -> None:
    text = """\
        import torch

        x = torch.randn(4, 3)
        for row in x:
            print(f"{row:.2f}")
        print(x @ x)
    """
    report = rehearsed(tmp_path, text)
    told = [(each.code, each.span.line) for each in report.findings if each.span]
    assert told == [("wrong-rank", 5), ("missing-transpose", 6)]
    assert "shape (3,)" in report.findings[0].message
    assert report.findings[0].fixes == ()


def test_what_torch_cannot_do_without_data_is_no_error_of_the_program(
    tmp_path: Path,
) -> None:
    report = rehearsed(
        tmp_path,
        """\
        import torch

        ends = torch.randint(0, 500, (2, 9000))
        edges = torch.sparse_coo_tensor(ends, torch.ones(9000), (500, 500))
        degrees = torch.sparse.sum((edges + edges.t()).coalesce(), dim=1).to_dense()
        print(degrees.shape)
        """,
    )
    assert [(f.code, f.severity) for f in report.findings] == [("not-here", "note")]
