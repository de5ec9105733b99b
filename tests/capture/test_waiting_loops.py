"""Loops that wait for unknown data end, in torch's own Python and in the user's."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import shapewright as sw

TOKEN, SMALL = 50256, 1e-4
Values = torch.Tensor


def draw_normal(w: Values) -> Values:
    return nn.init.trunc_normal_(w, std=0.02)


def draw_tail(w: Values) -> Values:
    return nn.init.trunc_normal_(w, 0.0, 1.0, 3.0, 5.0)


def draw_angles(w: Values) -> Values:
    return torch.distributions.VonMises(w, w.exp()).sample((3,))


def search_line(w: Values) -> Values:
    point = nn.Parameter(torch.zeros(5))
    optimizer = torch.optim.LBFGS([point], line_search_fn="strong_wolfe")

    def closure() -> Values:
        optimizer.zero_grad()
        loss = ((point - w[0, :5]) ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)  # type: ignore[arg-type]
    return point


def observe(w: Values) -> Values:
    from torch.ao.quantization import HistogramObserver

    observer = HistogramObserver()
    observer(w)
    observer(w)
    return observer.calculate_qparams()  # type: ignore[no-any-return]


def equalize(w: Values) -> Values:
    from torch.ao.quantization import _equalize

    layers = nn.Sequential(nn.Conv2d(3, 3, 3), nn.Conv2d(3, 3, 3))
    return _equalize.equalize(layers, [["0", "1"]])[0].weight


def find_eigenvectors(w: Values) -> Values:
    return torch.lobpcg(w.t() @ w, k=2)[0]


LOOPS: dict[tuple[str, str], Callable[[Values], Values]] = {
    ("nn/init.py", "not mask.any()"): draw_normal,
    ("nn/init.py", "not pending.any()"): draw_tail,
    ("distributions/von_mises.py", "not done.all()"): draw_angles,
    ("optim/lbfgs.py", "d.mul(t).abs().max() <= tolerance_change"): search_line,
    ("optim/lbfgs.py", "abs(gtd_new) <= -c2 * gtd"): search_line,
    (
        "optim/lbfgs.py",
        "abs(bracket[1] - bracket[0]) * d_norm < tolerance_change",
    ): search_line,
    ("optim/lbfgs.py", "abs(loss - prev_loss) < tolerance_change"): search_line,
    ("ao/quantization/observer.py", "l < end_bin and cSum[l] < next_alpha * total"): (
        observe
    ),
    ("ao/quantization/observer.py", "r > start_bin and cSum[r] > next_beta * total"): (
        observe
    ),
    ("_lobpcg.py", "not self.stop_iteration()"): find_eigenvectors,
    (
        "ao/quantization/_equalize.py",
        "not converged(name_to_module, previous_name_to_module, threshold)",
    ): equalize,
}
"""Conditions in torch's Python by which a `while` ends on values, and who asks them."""

READS = ("any(", "all(", "item(", "max(", "min(", "sum(", "abs(", "norm(")
WORDS = ("cSum", "stop_iteration", "converged")
FOLDERS = "nn optim distributions amp autograd fft linalg func ao/quantization".split()
PLAIN = frozenset({"dim > 1 and np.all(order == np.arange(dim))"})


@pytest.mark.parametrize(
    "program", dict.fromkeys(LOOPS.values()), ids=lambda p: p.__name__
)
def test_torchs_loops_end(program: Callable[[Values], Values]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = sw.trace(program, "f32[300, 400]")
    assert trace.complete
    assert not trace.findings


def test_no_loop_of_torch_is_left_out() -> None:
    root = Path(torch.__file__).parent
    files = [file for folder in FOLDERS for file in (root / folder).rglob("*.py")]
    found = set()
    for file in [*files, *root.glob("*.py")]:
        text = file.read_text(encoding="utf-8")
        if "while " not in text:
            continue
        for loop in ast.walk(ast.parse(text)):
            if isinstance(loop, ast.While):
                name = file.relative_to(root).as_posix()
                found |= {(name, test) for test in conditions_of(loop) if reads(test)}
    assert found <= set(LOOPS)


def reads(test: str) -> bool:
    return any(word in test for word in (*READS, *WORDS)) and test not in PLAIN


def conditions_of(loop: ast.While) -> set[str]:
    """The conditions by which a loop ends, as text."""
    leaving = (
        node.test
        for node in ast.walk(loop)
        if isinstance(node, ast.If)
        and any(isinstance(each, ast.Break | ast.Return) for each in ast.walk(node))
    )
    return {ast.unparse(test) for test in (loop.test, *leaving)}


def wait_for_mask(w: Values) -> Values:
    while (w > 0).any():
        w = w - 1
    return w


def wait_for_error(w: Values) -> Values:
    error = 1.0
    while error > SMALL:
        halved = w * 0.5
        error = (halved - w).norm().item()
        w = halved
    return w


def wait_for_accuracy(w: Values) -> Values:
    accuracy: float = 0
    while accuracy < 99.0:
        accuracy = (w > 0).float().mean().item() * 100
        if accuracy < 0:
            raise ValueError("no accuracy is below zero")
        accuracy = (w > 0).float().mean().item()
    return w


def wait_for_token(w: Values) -> Values:
    while True:
        if w.argmax().item() == TOKEN:
            break
    return w


def wait_for_rows(w: Values) -> Values:
    while len((w > 0).nonzero()) > 0:
        w = w - 1
    return w


def wait_for_kept(w: Values) -> Values:
    while w[w > 0].shape[0]:
        w = w - 1
    return w


def wait_for_flag(w: Values) -> Values:
    done = False
    while not done:
        w = w - 1
        if not (w > 0).any():
            done = True
    return w


def wait_by_function(w: Values) -> Values:
    def positive(x: Values) -> bool:
        return bool((x > 0).any())

    while positive(w):
        w = w - 1
    return w


def wait_for_one_that_is_false(w: Values) -> Values:
    while not torch.isnan(w).any():
        w = w * 2
    return w


WAITING = (
    wait_for_mask, wait_for_error, wait_for_accuracy, wait_for_token, wait_for_rows,
    wait_for_kept, wait_for_flag, wait_by_function, wait_for_one_that_is_false,
)  # fmt: skip


@pytest.mark.parametrize("program", WAITING, ids=lambda program: program.__name__)
def test_the_users_loops_end(program: Callable[[Values], Values]) -> None:
    trace = sw.trace(program, "f32[300, 400]")
    assert trace.complete
    assert not trace.findings
    assert trace.assumptions


def test_what_ends_no_loop_keeps_its_answer() -> None:
    read: list[float] = []

    def program(w: Values) -> float:
        total, step = 0.0, 0
        while True:
            for _ in range(20):
                value = w.mean().item()
                read.append(value)
                total += 1 / value
            step += 1
            if step == 20:
                break
        return total

    assert sw.trace(program, "f32[300, 400]").complete
    assert len(set(read)) == 1


def test_a_check_inside_a_loop_that_waits_is_no_condition_of_it() -> None:
    def program(w: Values) -> Values:
        turns = 0
        while turns < 400:
            if not torch.isfinite(w).all():
                raise ValueError("not finite")
            torch.distributions.Normal(w, w.exp()).sample()
            turns += 1
        return w

    trace = sw.trace(program, "f32[300, 400]")
    assert trace.complete
    assert not trace.findings


def test_a_number_that_ends_a_loop_lies_in_its_range() -> None:
    read: list[int] = []

    def program(w: Values) -> Values:
        policy = torch.distributions.Categorical(logits=w[0, :4])
        while True:
            action = policy.sample()
            read.append(int(action.item()))
            policy.log_prob(action)
            if sum(read) > 90:
                return w

    trace = sw.trace(program, "f32[300, 400]")
    assert trace.complete
    assert not trace.findings
    assert set(read) <= {0, 1, 2, 3}


def test_the_number_that_ends_a_loop_is_said() -> None:
    said = [
        each.message for each in sw.trace(wait_for_token, "f32[300, 400]").assumptions
    ]
    assert f"`Tensor.item` of unknown data taken as {TOKEN}" in said
