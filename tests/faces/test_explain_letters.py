"""Letters for sizes in the calls of `shapewright explain`."""

from __future__ import annotations

import pytest

import shapewright as sw
from shapewright.cli.main import main


def explained(capsys: pytest.CaptureFixture[str], call: str) -> str:
    assert main(["explain", call]) == 0
    return capsys.readouterr().out


def test_the_formula_and_the_loop_speak_the_letters_that_were_typed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = explained(capsys, "torch.matmul(f32[B=8, T=4, C=6], f32[C, 6])")
    assert "   input  (B=8, T=4, C=6) float32" in text
    assert "   other  (C=6, 6) float32" in text
    assert "-> out    (B=8, T=4, 6) float32" in text
    assert "out[b, t, j] = sum over c < C of input[b, t, c] * other[c, j]" in text
    assert "    for b in range(B):\n        for t in range(T):\n" in text
    assert "Row `t` of `input` times column `j` of `other`" in text
    assert "along `c`" in text
    inside = sw.explain("torch.matmul(f32[B=8, T=4, C=6], f32[C, 6])").text(inside=True)
    assert "input[b, t, c] is element 24*b + 6*t + c" in inside
    assert "checked: equal to torch at 64 elements" in text


def test_letters_without_a_size_get_small_different_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = explained(capsys, "f32[B, T, C=3].transpose(1, 2)")
    assert "chosen, because the call does not state them: B = 2, T = 4" in text
    assert "input  (B=2, T=4, C=3) float32" in text
    assert "out    (B=2, C=3, T=4) float32" in text
    assert "out[b, c, t] = input[b, t, c]" in text


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (
            "torch.gather(f32[N=4, D=6], 0, i64[K=2, D])",
            "[k, d] = input[index[k, d], d]",
        ),
        (
            "F.linear(f32[B, I=5], f32[O, I])",
            "sum over i < I of input[b, i] * weight[o",
        ),
        ("nn.Linear(C, 10)(f32[B=2, C=3])", "sum over c < C of input[b, c] * weight"),
        ("f32[B=2, T=3].view(B*T)", "input[i//3, i%3]"),
        ("f32[D//4, D]", "(1, D=4) float32"),
        ("f32[B=2, 2*B]", "(B=2, 4) float32"),
        ("f32[B, 1] + f32[C]", "out[b, c] = input[b, 0] + other[c]"),
        ("F.conv2d(f32[B=1,C=3,8,8], f32[O=4,C,3,3])", "for b in range(B):"),
        ("F.max_pool2d(f32[B=2,C=3,8,8], 2)", "for b in range(B):"),
        (
            # `u` is also a letter of attention's own: the user's comes first.
            "F.scaled_dot_product_attention(f32[U=3,E=4], f32[K=5,E], f32[K,D=2])",
            "weights[u, k] = (softmax over i < 5 of scores[u, i])[k]",
        ),
        (
            "F.scaled_dot_product_attention(f32[U=3,E=4], f32[K=5,E], f32[K,D=2])",
            "scores[u, k] = (sum over e < E of query[u, e] * key[k, e]) / 2",
        ),
        ("torch.einsum('bnk,bkm->bnm', f32[B,N,K], f32[B,K,M])", "over k < K of "),
        ("f32[B=4, T=5][:, :3]", "(B=4, 3) float32"),
        ("torch.sum(f32[B, T], dim=1)", "sum over t < T of input[b, t]"),
    ],
)
def test_letters_of_many_calls(
    call: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line in explained(capsys, call)


def test_one_letter_in_two_dims_stays_two_letters_in_the_loop(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = explained(capsys, "f32[N=3, N] @ f32[N, N]")
    assert "out[n, j] = sum over k < N of input[n, k] * other[k, j]" in text
    assert text.count("in range(N):") == 3


def test_lower_case_letters_are_sizes_too(capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, "torch.relu(f32[b=2, t=3])")
    assert "(b=2, t=3)" in text
    assert "for i in range(b):" in text


@pytest.mark.parametrize(
    ("call", "said", "column"),
    [
        ("f32[B=8, 2] + f32[B=7, 1]", "`B` is 8 at column 5 and 7 here", 18),
        ("f32[B=x]", "the size of `B` must be a number, 0 or more", 6),
        ("f32[B=8, 2:3]", "a size is an integer or a letter", 9),
        ("f32[B/2]", "sizes are divided by `//`", 4),
        ("f32[B=2, B-3]", "a size is an integer, 0 or more; this is -1", 9),
        ("f32[int]", "`int` cannot be a size", 4),
        ("f32[B=2].view(X)", "unknown name `X`", 14),
    ],
)
def test_mistakes_point_at_the_character(
    call: str, said: str, column: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", call]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert said in lines[0]
    assert lines[1] == f"  {call}"
    assert lines[2] == "  " + " " * column + "^"


def test_sizes_that_do_not_fit_are_marked_with_their_letters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", "F.linear(f32[B=8, C=256], f32[O=120, I=400])"]) == 1
    text = capsys.readouterr().out
    assert "   input   (B=8, C=256) float32\n                 ^^^^^\n" in text
    assert "dim 1 of `input` is C=256, dim 1 of `weight` is I=400" in text


def test_the_svg_has_the_letters_too() -> None:
    drawing = sw.explain("f32[B, T].t()")
    assert "(B=2, T=3) float32" in drawing.svg()
    assert "for t in range(T):" in drawing.svg()
    assert "chosen, because the call does not state them" in drawing.svg()
