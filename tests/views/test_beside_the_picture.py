"""The lines beside a picture: costs, where a new tensor comes from, and C++."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import shapewright as sw
from shapewright.cli.main import main
from shapewright.index_maps.drawn_calls import Drawn


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("f32[1000, 1000].t()",
         "cost: free, 0 bytes are moved; a later `out.contiguous()` copies 4,000,000"),
        ("f32[3, 4][1, 2]", "cost: free, 0 bytes are moved"),
        ("f32[3, 4].contiguous()", "cost: free, the same elements in the same storage"),
        ("f32[4, 4].t().reshape(16)", "cost: a copy, 128 bytes are read and written"),
        ("f32[2, 3] @ f32[3, 4]", "24 multiplications, 24 additions"),
        ("f32[2, 3] @ f32[3, 4]",
         "1 call of torch; the loop makes 152 calls of torch in 24 passes of Python"),
        ("len(f32[1000, 1000])", "it returns 1000, not a tensor"),
        ("len(f32[1000, 1000])", "cost: free at any size"),
        ("f32[3, 4].size(0)", "it returns 3, not a tensor"),
        ("i64[1].item()", "from a GPU the program waits for it"),
        ("f32[4, 6].tolist()", "cost: 24 elements become Python numbers"),
        ("f32[4, 6]", "free at any size: `len(tensor)` (4), one element `tensor[i"),
        ("f32[4, 6]", "a copy of 96 bytes: `tensor.clone()`, `tensor.t().cont"),
        ("f32[4, 6]", "a leaf: with requires_grad=True backward fills its .grad"),
        ("i64[4]", "a leaf; int64 cannot require a gradient"),
        ("torch.empty(2, 3)", "it holds whatever the memory held before"),
        ("torch.empty(2, 3)", "cost: 24 bytes are allocated"),
        ("torch.full((2,), 1)",
         "dtype int64: `1` is a whole number, and no dtype is given"),
        ("torch.full((2,), 1.5)",
         "dtype float32: `1.5` is a float, and `torch.get_default_dtype()` is float32"),
        ("torch.arange(3, dtype=torch.float16)", "dtype float16: the call specifies "
        "it"),
        ("torch.zeros_like(i64[2])", "dtype int64: that of `input`"),
        ("torch.empty(2, device='meta')", "device meta: the call specifies it"),
        ("torch.empty(2, device='meta')", "not drawn: a meta tensor has no values"),
        ("torch.meshgrid(f32[2], f32[3])", 'indexing "ij", torch\'s default'),
        ("torch.rand(2)", "`torch.manual_seed(0)` before it gives the same numbers"),
    ],
)  # fmt: skip
def test_what_is_said(call: str, said: str) -> None:
    assert said in sw.explain(call).text(200, inside=True)


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("torch.arange(0, 10)", "arange(0, 10, {kInt64})"),
        ("torch.arange(3, 0.5, -1)", "arange(3, 0.5, -1, {kFloat32})"),
        ("torch.linspace(0, 1, steps=5)", "linspace(0, 1, 5, {kFloat32})"),
        ("torch.full((2, 3), True)", "full({2, 3}, true, {kBool})"),
        ("torch.zeros(2, 3, dtype=torch.bfloat16)", "zeros({2, 3}, {kBFloat16})"),
        ("torch.randint(10, (2,))", "randint(0, 10, {2}, {kInt64})"),
        ("torch.randint(low=3, high=10, size=(2,))", "randint(3, 10, {2}, {kInt64})"),
        ("torch.eye(3)", "eye(3, {kFloat32})"),
        ("torch.eye(2, 5)", "eye(2, 5, {kFloat32})"),
        ("torch.tril_indices(3, 4)", "tril_indices(3, 4, 0, {kInt64})"),
        ("torch.ones_like(f64[2])", "ones_like(input, {kFloat64})"),
        ("torch.full_like(f32[2], 3)", "full_like(input, 3, {kFloat32})"),
        ("torch.randperm(4)", "randperm(4, {kInt64})"),
        ("torch.tril(f32[3, 3], -1)", "tril(input, /*diagonal=*/-1)"),
        ("torch.meshgrid(f32[2], f32[3], indexing='xy')", 'meshgrid({x0, x1}, "xy")'),
    ],
)
def test_the_same_call_in_cpp(call: str, written: str) -> None:
    """Each of these lines was compiled, and gave the same dtype and values."""
    for dtype in ("kInt64", "kFloat32", "kFloat64", "kBool", "kBFloat16"):
        options = f"torch::TensorOptions().dtype(torch::{dtype}).device(torch::kCPU)"
        written = written.replace(f"{{{dtype}}}", options)
    assert f"C++: torch::{written}" in sw.explain(call).text(300)


def test_the_default_dtype_is_the_persons() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        text = sw.explain("torch.zeros(2)").text(200)
    finally:
        torch.set_default_dtype(torch.float32)
    assert "dtype float64: no dtype is given" in text
    assert "torch.get_default_dtype()` is float64" in text
    assert ".dtype(torch::kFloat64)" in text


def test_the_persons_tensor_tells_of_its_gradient() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    assert "a leaf: backward fills .grad, now None" in str(sw.draw(x))
    y = x * 2
    kept = "made by MulBackward0: not a leaf, .grad stays None unless retain_grad() is"
    assert kept in sw.draw(y).text(200)
    y.retain_grad()
    y.sum().backward()
    assert "retain_grad() was called: backward fills .grad, now (2, 3)" in (
        sw.draw(y).text(200)
    )
    assert "backward fills .grad, now (2, 3)" in str(sw.draw(x))
    assert "requires_grad is False" in sw.draw(torch.ones(2)).autograd


def test_sections_are_there_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    call = "F.linear(f32[2, 3, 6], f32[4, 6], f32[4])"
    assert main(["explain", call]) == 0
    short = capsys.readouterr().out
    assert "grad_fn:" not in short
    assert main(["explain", "--inside", call]) == 0
    text = capsys.readouterr().out
    drawing = sw.explain(call)
    for part in (drawing.costs, drawing.autograd, drawing.dispatch):
        assert part.splitlines()[0] in text
    assert "calls of torch        1       912" in text
    assert "in a trace: 288 FLOPs" in text
    assert "grad_fn: ViewBackward0, then AddmmBackward0" in text
    assert "aten::addmm" in text
    few = [line for line in short.splitlines() if line not in text.splitlines()]
    assert not few


def test_a_call_that_torch_refuses_has_nothing_beside_it() -> None:
    drawing = sw.explain("f32[2, 3] @ f32[4, 5]")
    assert (drawing.costs, drawing.autograd, drawing.dispatch) == ("", "", "")
    assert "cost:" not in drawing.text(inside=True)


def test_no_line_is_wider_than_asked_for() -> None:
    for call in ("F.softmax(f32[2, 3], 1)", "torch.arange(0, 10)", "f32[3].split(2)"):
        drawing = sw.explain(call)
        assert isinstance(drawing.drawn, Drawn)
        text = drawing.text(80, inside=True).partition("cost: ")[2]
        assert max(map(len, text.splitlines())) <= 80


def test_inputs_have_the_names_of_the_program(tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    file.write_text("def f(x, bias):\n    return x + bias\n")
    text = sw.explain(f"{file}:2", "f32[3, 4], f32[4]").text(inside=True)
    assert "gradients: `x` (3, 4) and `bias` (4,)" in text
    assert "`bias` is read 3 times, 0 copies: its gradient sums over dim 0" in text
