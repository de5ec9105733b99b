"""Functions that `torch.func` maps or differentiates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

MAPPED = """\
import torch
from torch.func import grad, vmap

rows = torch.randn(6, 4)
limit = torch.tensor(0.5)

def clip(row):
    size = row.abs().max()
{body}

print(vmap({function})(rows).shape)
"""


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("    if size > limit:\n        return row / size\n    return row",
         "`size > limit` decides inside `vmap`"),
        ("    return row / size if bool(size > 1) else row",
         "`bool(size > 1)` decides inside `vmap`"),
        ("    while size.item() > 2:\n        size = size / 2\n    return row / size",
         "`size.item() > 2` decides inside `vmap`"),
        ("    return row / size.item()", "`size.item()` is read as a number"),
        ("    return row * float(size)", "`float(size)` is read as a number"),
        ("    return row[int(row.argmax())]", "`int(row.argmax())` is read as a"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("function", ["clip", "grad(lambda r: clip(r).sum())"])
def test_no_number_is_read_inside_vmap(
    body: str, shown: str, function: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, MAPPED.format(body=body, function=function))
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert shown in finding.message
    assert not finding.fixes


@pytest.mark.parametrize(
    "body",
    [
        "    return torch.where(size > limit, row / size, row)",
        "    return row / size if limit.item() > 0.2 else row",
        "    if row.shape[0] > 8:\n        return size\n    return row",
    ],
)
def test_numbers_of_no_sample_are_read_inside_vmap(body: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, MAPPED.format(body=body, function="clip"))
    assert not any(f.severity == "error" for f in report.findings)


def test_a_number_is_read_inside_grad(tmp_path: Path) -> None:
    body = "    return (row / size.item()).sum() if size > 1 else row.sum()"
    text = MAPPED.format(body=body, function="clip").replace("vmap(clip)", "grad(clip)")
    report = rehearsed(tmp_path, text)
    assert not any(f.severity == "error" for f in report.findings)


RETURNING = """\
import torch
from torch import nn
from torch.func import functional_call, grad, grad_and_value, vjp, vmap

model = nn.Linear(3, 2)
params = dict(model.named_parameters())
x, y = torch.rand(5, 3), torch.rand(5, 2)

def compute(p, x, y):
    out = functional_call(model, p, (x,))
    return {returned}

{line}
"""
PAIR = "(out - y).pow(2).mean(), out"


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("g, out = grad(compute)(params, x, y)",
         "`grad(compute, has_aux=True)`"),
        ("g = grad(compute, argnums=0)(params, x, y)",
         "`grad(compute, argnums=0, has_aux=True)`, and `g, _`"),
        ("g, loss = grad_and_value(compute)(params, x, y)",
         "`grad_and_value(compute, has_aux=True)`, and `(loss, _)`"),
        ("step = torch.func.grad_and_value(compute)\ng, (a, b) = step(params, x, y)",
         "`torch.func.grad_and_value(compute, has_aux=True)`"),
        ("each = vmap(grad(compute), in_dims=(None, 0, 0))\ng, o = each(params, x, y)",
         "`grad(compute, has_aux=True)`"),
    ],
)  # fmt: skip
def test_what_is_returned_beside_a_loss_is_handed_on(
    line: str, new: str, tmp_path: Path
) -> None:
    text = RETURNING.format(returned=PAIR, line=line)
    (finding,) = (
        f for f in rehearsed(tmp_path, text).findings if f.severity == "error"
    )
    assert (
        "`compute` returns a tuple, `(out - y).pow(2).mean(), out`" in finding.message
    )
    (fix,) = finding.fixes
    assert fix.message == new
    assert fix.checked


@pytest.mark.parametrize(
    "returned", ["out.sum(), out, y", "{'loss': out.sum()}", "[out.sum(), out]"]
)
def test_what_is_no_pair_is_named(returned: str, tmp_path: Path) -> None:
    line = "g = grad(compute)(params, x, y)"
    text = RETURNING.format(returned=returned, line=line)
    (finding,) = (
        f for f in rehearsed(tmp_path, text).findings if f.severity == "error"
    )
    assert "differentiates a single tensor" in finding.message
    assert not finding.fixes


@pytest.mark.parametrize(
    ("returned", "line"),
    [
        (PAIR, "g, out = grad(compute, has_aux=True)(params, x, y)"),
        (PAIR, "values, pull = vjp(compute, params, x, y)"),
        ("out.sum()", "g, loss = grad_and_value(compute)(params, x, y)"),
    ],
)
def test_functions_that_fit_are_quiet(returned: str, line: str, tmp_path: Path) -> None:
    text = RETURNING.format(returned=returned, line=line)
    report = rehearsed(tmp_path, text)
    assert not any(f.severity == "error" for f in report.findings)
