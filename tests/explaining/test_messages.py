"""A message of torch finds its page, by what torch really says and by what "
"people post."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from shapewright.cli.main import main
from shapewright.findings.codes import CODES
from shapewright.findings.messages import MESSAGES, find_message

POSTS = Path(__file__).parents[1] / "posts"


def r(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes)


def twice() -> None:
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()


def written() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def onto_a_leaf() -> None:
    x = torch.ones(2, requires_grad=True)
    x += 1


RAISES: dict[str, list[Callable[[], object]]] = {
    "inner-dim-mismatch": [
        lambda: nn.Linear(400, 120)(r(8, 256)),
        lambda: r(3, 4) @ r(5, 6),
        lambda: r(3, 4) @ r(5),
    ],
    "broadcast-mismatch": [lambda: r(3, 4) + r(5)],
    "channel-mismatch": [
        lambda: nn.Conv2d(3, 8, 3)(r(2, 1, 8, 8)),
        lambda: nn.BatchNorm2d(8)(r(2, 4, 8, 8)),
    ],
    "wrong-rank": [
        lambda: nn.Conv2d(3, 8, 3)(r(3, 8)),
        lambda: nn.BatchNorm2d(3)(r(2, 3)),
        lambda: torch.cat([r(2), r(2, 3)]),
        lambda: r(4, 5).gather(1, torch.tensor([0, 1, 2, 3])),
    ],
    "kernel-too-large": [
        lambda: nn.Conv2d(3, 8, 5)(r(2, 3, 4, 4)),
        lambda: F.max_pool2d(r(1, 1, 1, 1), 2),
    ],
    "element-count-mismatch": [
        lambda: r(4, 6).view(5, 5),
        lambda: r(4, 6).reshape(-1, 5),
    ],
    "two-unknown-sizes": [lambda: r(4, 6).view(-1, -1)],
    "not-contiguous": [lambda: r(4, 6).t().view(24)],
    "expand-mismatch": [lambda: r(3, 4).expand(3, 5)],
    "joined-sizes-differ": [lambda: torch.cat([r(2, 3), r(2, 4)])],
    "stacked-shapes-differ": [lambda: torch.stack([r(2, 3), r(2, 4)])],
    "split-sizes": [lambda: r(6).split([2, 3])],
    "unpacked-sizes": [lambda: [a for a, b in [r(3)]]],
    "dim-out-of-range": [lambda: r(3).sum(1)],
    "too-many-indices": [lambda: r(3)[0, 0]],
    "index-out-of-range": [
        lambda: nn.Embedding(4, 2)(torch.tensor([7])),
        lambda: r(3)[5],
        lambda: F.cross_entropy(r(2, 3), torch.tensor([0, 3])),
    ],
    "k-too-large": [lambda: r(3).topk(4)],
    "normalized-shape": [lambda: nn.LayerNorm(4)(r(2, 5))],
    "one-value-per-channel": [lambda: nn.BatchNorm1d(3)(r(1, 3))],
    "rnn-input-size": [lambda: nn.LSTM(4, 5)(r(3, 2, 6))],
    "hidden-state-shape": [lambda: nn.GRU(4, 5)(r(3, 2, 4), r(1, 3, 5))],
    "einsum-sizes": [lambda: torch.einsum("ij,jk->ik", r(2, 3), r(4, 5))],
    "einsum-letters": [lambda: torch.einsum("ijk,jk->ik", r(2, 3), r(3, 5))],
    "target-shape": [lambda: F.cross_entropy(r(2, 3), torch.tensor([0, 1, 2]))],
    "dtype-mismatch": [
        lambda: r(2, 3) @ r(3, 2).double(),
        lambda: nn.Linear(3, 2)(r(2, 3).double()),
    ],
    "graph-freed": [twice],
    "saved-tensor-written": [written],
    "leaf-written": [onto_a_leaf],
    "graph-cut": [lambda: r(3).sum().backward()],
    "nothing-to-train": [lambda: torch.optim.SGD([], lr=0.1)],
    "to-numpy": [lambda: torch.ones(2, requires_grad=True).numpy()],
    "state-dict-mismatch": [lambda: nn.Linear(3, 2).load_state_dict({})],
    "groups-do-not-divide": [lambda: nn.Conv2d(3, 8, 3, groups=2)],
    "tuple-as-tensor": [lambda: nn.Linear(5, 2)(nn.LSTM(4, 5)(r(3, 2, 4)))],
    "packed-lengths": [
        lambda: nn.utils.rnn.pack_padded_sequence(r(3, 2, 4), torch.tensor([1, 3]))
    ],
}
CALLS = [(code, call) for code, calls in RAISES.items() for call in calls]


@pytest.mark.parametrize(
    ("code", "call"), CALLS, ids=[f"{c}-{n}" for n, (c, _) in enumerate(CALLS)]
)
def test_what_torch_says_finds_its_page(code: str, call: Callable[[], object]) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    known = find_message(f"{type(caught.value).__name__}: {caught.value}")
    assert known is not None, caught.value
    assert known[0] == code


def test_the_transpose_of_many_dims_says_what_to_write() -> None:
    with pytest.raises(RuntimeError) as caught:
        r(2, 3, 4, 5).t()
    known = find_message(str(caught.value))
    assert known is not None
    assert known[0] == "wrong-rank"
    assert "Of 4 dims, `transpose(-2, -1)`" in known[1]


def test_indices_on_another_device_find_their_page() -> None:
    known = find_message(
        "RuntimeError: indices should be either on cpu or on the same device as the "
        "indexed tensor (cpu)"
    )
    assert known is not None
    assert known[0] == "mixed-devices"


def test_every_entry_has_a_page() -> None:
    assert {message.code for message in MESSAGES} <= set(CODES)


OF_PYTHON = ("AttributeError", "TypeError", "KeyError")
"""Errors whose words are names of the program."""
OWN_WORDS = {"IndexError: list index", "object has no attribute", "forward() missing"}
"""Errors of Python that are no message of torch."""


def test_what_people_post_finds_a_page() -> None:
    posted = set()
    for file in sorted(POSTS.glob("wave*/*/label.toml")):
        raises = tomllib.loads(file.read_text("utf-8"))["raises"]
        words = raises.partition(": ")[2]
        if words and words in (file.parent / "program.py").read_text("utf-8"):
            continue  # the program's own message
        if raises and not raises.startswith(OF_PYTHON):
            posted.add(raises)
    unknown = [text for text in posted if find_message(text) is None]
    assert len(posted) > 100
    assert len(unknown) <= 5, unknown


def test_the_command_says_what_the_numbers_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "mat1 and mat2 shapes cannot be multiplied (8x256 and 400x120)"
    assert main(["explain", f"RuntimeError: {text}"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("The left one has 8 rows of 256 numbers")
    assert "nn.Linear(256, 120)" in shown
    assert "# inner-dim-mismatch" in shown


def test_a_message_that_no_page_explains_says_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main(["explain", "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED"]) == 2
    )
    shown = capsys.readouterr().err
    assert "no page" in shown
    assert "shapewright check" in shown
