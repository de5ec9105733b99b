"""`shapewright explain model.py:57`: what a line of a program does, drawn."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import shapewright as sw
from shapewright.cli.main import main

NET = """\
import torch, torch.nn as nn, torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, h):
        h = h + self.fc(h)
        h = F.relu(
            1 - h,
        )
        index = torch.tensor([0, 2])
        g = h[:, index]
        return torch.cat([h, g], dim=1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3)
        self.pool = nn.MaxPool2d(2)
        self.blocks = nn.ModuleList([Block(8) for _ in range(2)])

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = x.flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        width = x.shape[-1]
        return x.mean(1)
"""
SCRIPT = """\
import torch
scores = torch.arange(12.0).view(3, 4)
rows = torch.tensor([[2], [0], [1]])
def chosen(x, index):
    return x.gather(1, index)
best = chosen(scores, rows)
for n in range(1, 4):
    scores[:n] * 2 + scores[:n]
"""


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(NET)
    (tmp_path / "s.py").write_text(SCRIPT)
    return tmp_path


def line_of(text: str, code: str) -> int:
    """The number of the line of a program that has some code."""
    return next(n for n, one in enumerate(text.splitlines(), 1) if code in one)


def explained(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    status = main(["explain", *arguments])
    told = capsys.readouterr()
    return status, told.out, told.err


def on_net(capsys: pytest.CaptureFixture[str], code: str) -> str:
    place = f"m.py:{line_of(NET, code)}"
    status, text, _ = explained(capsys, "-i", "f32[2, 3, 8, 8]", place)
    assert status == 0
    assert text.startswith(f"{place}\n")
    return text


def test_every_call_of_a_line_in_order_with_the_programs_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = on_net(capsys, "self.pool(F.relu")
    assert (
        "  x = self.pool(F.relu(self.conv1(x)))\n\nran once, in a run of m.py:Net"
        in (text)
    )
    heads = [
        "1 of 3: self.conv1(x)",
        "2 of 3: F.relu(self.conv1(x))",
        "3 of 3: self.po",
    ]
    places = [text.index(head) for head in heads]
    assert places == sorted(places)
    assert "layer `conv1` (Conv2d) calls F.conv2d" in text
    assert "   x             (2, 3, 8, 8) float32" in text
    assert "   conv1.weight  (8, 3, 3, 3) float32" in text
    assert "of x[n, c, h + u, w + v] *\n      conv1.weight[o, c, u, v]" in text
    assert "`input` is `self.conv1(x)`" in text
    assert "layer `pool` (MaxPool2d) calls F.max_pool2d" in text
    assert text.count("values are made up") == 3
    assert text.count("checked: equal to torch at 64 elements") == 3


def test_a_convolution_inside_a_layer_that_the_line_calls(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "deep.py").write_text(
        "import torch\nfrom torch import nn\nimage = torch.randn(2, 3, 8, 8)\n"
        "layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ConvTranspose2d(4, 3, 3))\n"
        "back = layers(image)\n"
    )
    status, text, _ = explained(capsys, "deep.py:5")
    assert status == 0
    assert "1 of 2: F.conv2d, inside layers(image)" in text
    product = "as unfold, product, fold: (4, 27) @ (27, 36), for each of 2 images"
    assert product in text
    assert "as product, fold: (27, 4) @ (4, 36), for each of 2 images" in text


def test_a_line_that_ran_on_several_shapes_tells_them_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = on_net(capsys, "h = h + self.fc(h)")
    assert "ran 2 times in blocks.0, blocks.1, in a run of m.py:Net" in text
    assert "once (2, 9, 8) -> (2, 9, 8) in blocks.0.fc\n" in text
    assert "once (2, 11, 8) -> (2, 11, 8) in blocks.1.fc\n" in text
    assert "drawn: the first" in text
    assert "sum over i < 8 of h[b, c, i] * fc.weight[o, i]" in text
    assert "2 of 2: h + self.fc(h)" in text
    assert "out[i, j, k] = h[i, j, k] + other[i, j, k]" in text
    assert "`other` is `self.fc(h)`" in text


def test_values_that_the_run_knows_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = on_net(capsys, "g = h[:, index]")
    assert "values of `index` are those of the run, others are made up" in text
    assert "out[i, j, k] = h[i, index[j], k]" in text
    assert "│ 0 [2]│" in text


@pytest.mark.parametrize("code", ["h = F.relu(", "1 - h,"])
def test_any_line_of_a_statement_means_all_of_it(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = on_net(capsys, code)
    assert "1 of 2: 1 - h\n" in text
    assert "out[i, j, k] = 1 - h[i, j, k]" in text
    assert "2 of 2: F.relu( 1 - h, )\n" in text


def test_tensors_in_a_list_have_their_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = on_net(capsys, "torch.cat([h, g]")
    assert "   h    (2, 9, 8) float32\n   g    (2, 2, 8) float32\n" in text
    assert "g[i, j - 9, k]" in text


def test_a_line_that_calls_own_code_names_its_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = on_net(capsys, "x = block(x)")
    assert "makes no tensor call itself; it calls code that does: m.py:10, m.py:11" in (
        text
    )


def test_a_line_without_a_call_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = on_net(capsys, "width = x.shape")
    number = line_of(NET, "return x.mean(1)")
    assert "makes no tensor call in this run\nthe nearest lines that do:\n" in text
    assert f"  {number}: return x.mean(1)" in text
    text = on_net(capsys, "self.pool = nn.MaxPool2d(2)")
    assert "makes no tensor call in this run" in text


def test_the_class_of_a_line_may_be_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = f"m.py:Block(6):{line_of(NET, '1 - h')}"
    status, text, _ = explained(capsys, "-i", "f32[B=4, 3, 6]", place)
    assert status == 0
    assert "ran once, in a run of m.py:Block(6)" in text
    assert "(4, 3, 6) float32" in text


def test_a_line_of_a_script_with_its_own_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, text, _ = explained(capsys, "s.py:5")
    assert status == 0
    assert "ran once, in a run of s.py" in text
    assert "1 of 1: x.gather(1, index)" in text
    assert "out[i, j] = x[i, index[i, j]]" in text
    assert "values are those of the run" in text
    assert "out[1, 0] = 4 reads x[1, 0] = 4" in text
    _, text, _ = explained(capsys, "s.py:6")
    assert "it calls code that does: s.py:5" in text
    _, text, _ = explained(capsys, "s.py:8")
    assert "ran 3 times, in a run of s.py" in text
    assert "1 of 4: scores[:n]" in text
    assert "once (3, 4) -> (2, 4)" in text


def test_a_line_that_fails_draws_what_does_not_line_up(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "bad.py").write_text(
        "import torch.nn as nn\n\n\nclass Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.fc1 = nn.Linear(400, 120)\n\n"
        "    def forward(self, x):\n        x = x.flatten(1)\n"
        "        x = self.fc1(x)\n        return x.relu()\n"
    )
    status, text, _ = explained(capsys, "-i", "f32[8, 4, 8, 8]", "bad.py:11")
    assert status == 1
    assert "   x           (8, 256) float32\n                   ^^^\n" in text
    assert "`linear` needs 400 input features, got 256" in text
    assert (
        "torch: mat1 and mat2 shapes cannot be multiplied (8x256 and 400x120)" in text
    )
    status, text, _ = explained(capsys, "-i", "f32[8, 4, 8, 8]", "bad.py:12")
    assert status == 1
    assert "the run ended before: bad.py:11:13: mat1 and mat2 shapes" in text
    status, text, _ = explained(capsys, "-i", "f32[8, 4, 8, 8]", "bad.py:10")
    assert status == 0
    assert "the run ended at bad.py:11:13: mat1 and mat2 shapes" in text


def test_known_values_that_do_not_fit_are_marked_too(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "bad.py").write_text(
        "import torch\na = torch.ones(3, 4)\nb = torch.ones(5, 6)\nc = a @ b\n"
    )
    status, text, _ = explained(capsys, "bad.py:4")
    assert status == 1
    assert "as many columns in `a` (3, 4) as rows in `b` (5, 6): 4 against 5" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["m.py:99"], "`m.py` has 32 lines, there is no line 99"),
        (["no.py:3"], "no such file: `no.py`"),
        (["m.py:Nett:27"], "does not define `Nett`; did you mean `Net`?"),
        (["-i", "f32[2, 3", "m.py:27"], "this `[` is never closed"),
        (["-i", "f32[2]", "torch.relu(f32[2])"], "-i and --timeout are for a line"),
        (["two.py:10"], "name what to run: `two.py:A:10` or `two.py:B:10`"),
    ],
)
def test_what_cannot_be_used_is_told(
    arguments: list[str], said: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = "class {}(nn.Module):\n    def forward(self, x): return x\n"
    (desk / "two.py").write_text(
        "from torch import nn\n" + module.format("A") + module.format("B")
        + "\n\n\nclass Settings:\n    def scale(self, x): return x\n"
    )  # fmt: skip
    status, out, told = explained(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert said in told.splitlines()[0]


def test_a_line_as_svg_and_as_text(desk: Path) -> None:
    place = f"m.py:{line_of(NET, 'self.pool(F.relu')}"
    spec = ["-i", "f32[2, 3, 8, 8]"]
    assert main(["explain", *spec, "-o", "line.svg", place]) == 0
    root = ElementTree.fromstring((desk / "line.svg").read_text("utf-8"))
    words = [element.text for element in root.iter() if element.text]
    for head in ("1 of 3: self.conv1(x)", "2 of 3: F.relu(self.conv1(x))"):
        assert head in words
    assert main(["explain", *spec, "-o", "line.txt", "--ascii", place]) == 0
    assert (desk / "line.txt").read_text().isascii()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_line_is_as_wide_as_asked(width: int) -> None:
    drawing = sw.explain(f"m.py:{line_of(NET, 'g = h[:, index]')}", "f32[2, 3, 8, 8]")
    assert max(map(len, drawing.text(width).splitlines())) <= width


def test_python_explains_lines_and_ops() -> None:
    drawing = sw.explain("s.py:5")
    assert "out[i, j] = x[i, index[i, j]]" in str(drawing)
    with pytest.raises(TypeError, match="a call in text has its arguments"):
        sw.explain("torch.relu(f32[2])", "f32[2]")


def test_in_colours_it_is_the_same_page(desk: Path) -> None:
    place = f"m.py:{line_of(NET, 'h = F.relu')}"
    drawing = sw.explain(place, "f32[2, 3, 8, 8]")
    for width in (60, 120):
        coloured = drawing.text(width, colour=True)
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == drawing.text(width)
        for line in coloured.splitlines():
            assert line.count("\x1b[0m") * 2 == line.count("\x1b[")


ATTENTION = """\
import torch, torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(4, 2)

    def forward(self, x):
        mask = torch.ones(3, 3, dtype=torch.bool).triu(1)
        return self.attn(x, x, x, attn_mask=mask)[0]
"""


def test_calls_inside_a_layer_are_named(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "a.py").write_text(ATTENTION)
    line = line_of(ATTENTION, "self.attn(x, x")
    assert main(["explain", f"a.py:{line}", "-i", "f32[3, 2, 4]"]) == 0
    text = capsys.readouterr().out
    call = "inside self.attn(x, x, x, attn_mask=mask)"
    assert re.search(rf"1 of \d: torch.zeros_like, {re.escape(call)}\n", text)
    assert re.search(
        rf"\d of \d: F.multi_head_attention_forward, {re.escape(call)}", text
    )
