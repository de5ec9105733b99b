"""Whole numbers that a script reads keep their values, as many as labels are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import shapewright as sw
from rehearsing.rehearsed import rehearsed

COUNT = 60_000
WAYS = {
    "torch.load": 'torch.load("labels.pt")["y"]',
    "of several": 'torch.load("labels.pt")["image"][:, 0]',
    "from_numpy": 'torch.from_numpy(numpy.load("labels.npy"))',
    "tensor of numpy": 'torch.tensor(numpy.load("labels.npy"))',
    "as_tensor": 'torch.as_tensor(numpy.load("labels.npy"))',
    "list": 'torch.tensor(numpy.load("labels.npy").tolist())',
    "LongTensor": 'torch.LongTensor(numpy.load("labels.npy").tolist())',
    "frombuffer": (
        'torch.frombuffer(bytearray(numpy.load("labels.npy").tobytes()), '
        "dtype=torch.int64)"
    ),
    "bytes": 'torch.from_numpy(numpy.load("labels.npy").astype("u1")).long()',
}
SCRIPT = """
import numpy
import torch

y = {way}
groups = [torch.where(y == each)[0] for each in range(10)]
seen = [
    y[:4].tolist(), y[777].item(), y.sum().item(), y.max().item(), int((y == 3).sum()),
    y.bincount().tolist(), y.unique().tolist(), (y == 3).nonzero().shape[0],
    torch.where(y == 3)[0][5].item(), y[y > 4].shape[0], len(y[torch.arange(9)]),
    [len(each) for each in groups], torch.equal(y, y.clone()),
]
"""


@pytest.mark.parametrize("way", WAYS)
def test_labels_are_what_they_are(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = numpy.random.RandomState(0).randint(0, 10, COUNT)
    numpy.save(tmp_path / "labels.npy", labels)
    saved = torch.from_numpy(labels)
    torch.save(
        {"y": saved, "image": saved[:, None].repeat(1, 8)}, tmp_path / "labels.pt"
    )
    monkeypatch.chdir(tmp_path)
    script = SCRIPT.format(way=WAYS[way])
    real: dict[str, Any] = {}
    exec(compile(script, "real", "exec"), real)
    report = rehearsed(tmp_path, f"{script}assert seen == {real['seen']}")
    assert not report.findings
    assert report.trace is not None
    assert report.trace.complete
    assert not report.trace.assumptions


def test_labels_that_are_given_keep_their_values() -> None:
    labels = torch.arange(COUNT) % 7

    def program(y: torch.Tensor) -> torch.Tensor:
        return y[y == 3]

    trace = sw.trace(program, labels)
    assert trace.output.shape == tuple(program(labels).shape)
    assert not trace.assumptions
