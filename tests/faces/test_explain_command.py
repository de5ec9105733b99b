"""`shapewright explain`: operator calls, drawn in the terminal."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

import shapewright
from shapewright.cli.main import main
from shapewright.findings.codes import CODES


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["explain", *arguments])
    return code, capsys.readouterr().out


def test_a_gather_on_the_shapes_that_were_typed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = "torch.gather(f32[4, 6], dim=0, index=i64[2, 6])"
    code, text = explained(capsys, call)
    assert code == 0
    assert "out[i, j] = input[index[i, j], j]" in text
    assert "-> out    (2, 6) float32" in text
    assert "checked: equal to torch at 12 elements" in text
    assert max(map(len, text.splitlines())) <= 100


def test_plain_characters_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = explained(capsys, "--ascii", "torch.index_select(f32[30], 0, i64[3])")
    assert code == 0
    assert text.isascii()
    assert "... columns" in text


def test_colours_on_request_only_and_never_in_a_file(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    call = "torch.gather(f32[4, 6], 0, i64[2, 6])"
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    _, plain = explained(capsys, call)
    monkeypatch.setenv("COLUMNS", "40")
    assert explained(capsys, call) == (0, plain)
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, coloured = explained(capsys, call)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    explained(capsys, "-o", str(tmp_path / "gather.txt"), call)
    assert "\x1b" not in (tmp_path / "gather.txt").read_text()
    monkeypatch.setenv("NO_COLOR", "1")
    assert explained(capsys, call) == (0, plain)


def test_a_call_that_torch_refuses_is_shown_with_its_shapes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, text = explained(capsys, "torch.gather(f32[4, 6], 0, f32[2, 6])")
    assert code == 1
    assert "index  (2, 6) float32" in text
    assert "torch: gather(): Expected dtype int32/int64 for index" in text


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("f32(2, 3)", "sizes are written in brackets: `f32[2, 3]`"),
        ("b8[2] + 1", "a tensor is a dtype with sizes, as in `f32[4, 6]`"),
        ("f32[2, 3].shape", "`.shape` is not drawn; methods are"),
        ("f32[2].cuda()", "`torch.Tensor.cuda` is not one of the operators that are"),
        ("torch.cross_entropy(f32[2, 3])", "did you mean `F.cross_entropy`?"),
        ("nn.Lineer(3, 4)(f32[3])", "did you mean `torch.nn.Linear`?"),
        ("nn.Sequential(nn.ReLU())(f32[2])", "only one layer can be drawn"),
        (
            "gathr",
            "no operator and no finding is named `gathr`; did you mean `gather`?",
        ),
        ("torch.relu(f32[2]", "'(' was never closed"),
        ("torch.gathr(f32[2], 0, i64[2])", "did you mean `torch.gather`?"),
        ("torch.gather(f33[2], 0, i64[2])", "unknown name `f33`; did you mean `f32`?"),
        ("__import__('os').system('true')", "`__import__` is not torch's"),
        ("torch.gather(f32[2], 0", "not an expression"),
        ("torch.load('x')", "`torch.load` is not one of the operators that are drawn"),
        ("f32[-1, 2]", "a size is an integer, 0 or more"),
        ("nn.Linear(3, 4)", "call it with its input: `nn.Linear(3, 4)(f32[8, 3])`"),
        ("", "no call given"),
        ("os.getcwd()", "`os.getcwd` is not torch's"),
    ],
)
def test_what_is_no_call_is_said_and_nothing_is_run(
    call: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", call]) == 2
    assert said in capsys.readouterr().err


def test_a_file_is_written_and_only_ours_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gather.txt"
    assert main(["explain", "-o", str(file), "f32[2, 3]"]) == 0
    assert main(["explain", "-o", str(file), "f32[4, 3]"]) == 0
    assert "(4, 3)" in file.read_text()
    file.write_text("mine")
    assert main(["explain", "-o", str(file), "f32[2, 3]"]) == 2
    assert file.read_text() == "mine"
    assert "was not written by shapewright" in capsys.readouterr().err


def test_every_code_of_a_finding_has_a_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for code in CODES:
        status, page = explained(capsys, code)
        assert status == 0
        assert page.startswith(f"# {code}\n")
        assert "**What to do.**" in page


def test_an_unknown_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "torch-eror"]) == 2
    assert "did you mean `torch-error`?" in capsys.readouterr().err


def test_an_svg_is_written_and_only_ours_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gather.svg"
    call = "torch.gather(f32[4, 6], 0, i64[2, 6])"
    assert main(["explain", "-o", str(file), "f32[2, 3]"]) == 0
    assert main(["explain", "-o", str(file), call]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count(f"wrote {file}") == 2
    root = ElementTree.fromstring(file.read_text("utf-8"))
    assert root[0].text == call
    file.write_text("<svg>mine</svg>")
    assert main(["explain", "-o", str(file), call]) == 2
    assert file.read_text() == "<svg>mine</svg>"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.jpg", "a drawing is written to .svg, .png or .txt"),
        ("a.pdf", "a drawing is written to .svg, .png or .txt"),
    ],
)
def test_other_endings_are_refused_in_a_sentence(
    name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "-o", str(tmp_path / name), "f32[2, 3]"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_page_of_a_finding_is_no_drawing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "-o", str(tmp_path / "a.svg"), "torch-error"]) == 2
    assert "the page of a finding is text" in capsys.readouterr().err
    assert main(["explain", "-o", str(tmp_path / "a.md"), "torch-error"]) == 0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            "F.conv2d(f32[1, 3, 224, 224], f32[4, 3, 7, 7], stride=2, padding=3)",
            "height: floor((224 + 2*3 - 1*(7 - 1) - 1) / 2) + 1 = 112",
        ),
        (
            "F.unfold(f32[1, 1, 4, 4], 2)",
            "each element of `input` is read 1 to 4 times",
        ),
        (
            "F.fold(f32[1, 4, 9], (4, 4), 2)",
            "1 to 4 are summed into each element of `out`",
        ),
    ],
)
def test_windows_with_their_numbers_put_in(
    call: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = explained(capsys, call)
    assert status == 0
    assert said in text


def test_a_layer_is_drawn_as_the_operator_that_it_calls(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, text = explained(capsys, "nn.Linear(4, 2)(f32[3, 4])")
    assert status == 0
    assert "weight  (2, 4) float32" in text
    assert "sum over i < 4 of input[n, i] * weight[o, i]" in text
    assert "checked: equal to torch at 6 elements" in text


def test_layers_that_do_not_fit_or_are_not_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, text = explained(capsys, "nn.Linear(400, 120)(f32[8, 256])")
    assert status == 1
    assert "mat1 and mat2 shapes cannot be multiplied (8x256 and 400x120)" in text
    assert "`linear` needs 400 input features, got 256" in text
    status, text = explained(
        capsys, "nn.TransformerEncoderLayer(16, 4, 8)(f32[5, 2, 16])"
    )
    assert status == 0
    assert "not drawn: it is several calls of torch" in text
    assert main(["explain", "nn.Foo(3)(f32[2])"]) == 2


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        (
            "F.linear(f32[8, 256], f32[120, 400])",
            [
                "   input   (8, 256) float32",
                "               ^^^",
                "   weight  (120, 400) float32",
                "                 ^^^",
                "`linear` needs 400 input features, got 256",
            ],
        ),
        (
            "nn.Conv2d(3, 4, 3)(f32[1, 2, 8, 8])",
            ["`conv2d` needs 3 input channels, got 2 in dim 1 of `input` (1, 2, 8, 8)"],
        ),
        (
            "f32[2, 3] @ f32[4, 5]",
            ["   input  (2, 3) float32", "              ^", "3 against 4"],
        ),
        (
            "f32[8, 3, 5] + f32[4, 5]",
            ["`add` cannot line up `input` (8, 3, 5) with `other` (4, 5): 3 against 4"],
        ),
        (
            "torch.cat([f32[2, 3], f32[2, 4]], dim=0)",
            ["`tensors.0` is (2, 3), `tensors.1` is (2, 4)"],
        ),
        (
            "f32[4, 6].view(5, 5)",
            ["`view` needs 25 elements for (5, 5), got 24 in `input` (4, 6)"],
        ),
        (
            "F.cross_entropy(f32[8, 10], i64[4])",
            ["`cross_entropy` expects class indices (8,) for `input` (8, 10)"],
        ),
    ],
)
def test_what_does_not_line_up_is_marked(
    call: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = explained(capsys, call)
    assert status == 1
    for line in lines:
        assert line in text


def test_of_two_dtypes_that_differ_the_dtypes_are_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, text = explained(capsys, "torch.matmul(f32[2, 3], i64[3, 4])")
    assert status == 1
    assert [line.strip() for line in text.splitlines() if "^" in line] == [
        "^" * len("float32"),
        "^" * len("int64"),
    ]
    assert "should be equal" not in text


def test_collisions_of_a_scatter_are_counted() -> None:
    x, source = torch.zeros(4, 2), torch.ones(3, 2)
    index = torch.tensor([[0, 1], [0, 2], [0, 3]])
    text = str(shapewright.explain(torch.scatter, x, 0, index, source))
    assert (
        "of 8 places of `out`, 1 gets more than one element (torch does not say"
        " which of them stays) and 4 get none" in text
    )
    text = str(shapewright.explain(torch.scatter_add, x, 0, index, source))
    assert "of 8 places of `out`, 1 gets more than one element and 4 get none" in text


@pytest.mark.parametrize(
    ("call", "out"),
    [
        ("nn.Linear(100000, 100000)(f32[8, 100000])", "(8, 100000)"),
        ("f32[1000000, 1] + f32[1, 1000000]", "(1000000, 1000000)"),
        ("torch.zeros(1000000, 1000000)", "(1000000, 1000000)"),
        ("f32[100000, 100000].transpose(0, 1)", "(100000, 100000)"),
        ("torch.arange(10000000000).view(10, -1)", "(10, 1000000000)"),
    ],
)
def test_what_is_too_large_is_shown_by_its_shapes(
    call: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = explained(capsys, call)
    assert status == 0
    assert out in text
    assert "too large to run" in text


@pytest.mark.parametrize(
    "call",
    [
        "torch.linalg.inv(f32[3, 3])",
        "torch.linalg.cholesky(f32[2, 3, 3])",
        "F.binary_cross_entropy(f32[4], f32[4])",
        "torch.multinomial(f32[3, 4], 2)",
    ],
)
def test_values_that_we_make_up_are_none_that_torch_refuses(
    call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = explained(capsys, call)
    assert code == 0
    assert "-> out" in text


def test_made_up_classes_use_the_classes_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, text = explained(capsys, "F.one_hot(i64[4], 5)")
    assert code == 0
    assert "\u2502 0  4 [4] 3 \u2502" in text


@pytest.mark.parametrize(
    ("call", "formula"),
    [
        ("-f32[3]", "out[i] = neg(input[i])"),
        ("~bool[3]", "out[i] = bitwise_not(input[i])"),
        ("f32[4, 6].sum(axis=0, keepdims=True)", "sum over u < 4 of input[u, j]"),
    ],
)
def test_signs_and_the_names_of_numpy(
    call: str, formula: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = explained(capsys, call)
    assert code == 0
    assert formula in text


def test_of_a_layer_it_is_said_what_it_calls(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, text = explained(capsys, "nn.BatchNorm1d(4)(f32[2, 4])")
    said = "the layer, in evaluation mode, calls `F.batch_norm`"
    assert said in text
    _, text = explained(capsys, "F.relu(f32[4])")
    assert "the layer" not in text
