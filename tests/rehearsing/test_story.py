"""What a rehearsal runs of a script, and what it tells of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import moments, rehearsed

SCRIPT = """\
    import sys
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset


    class Digits(Dataset):
        def __init__(self, count):
            self.count = count

        def __len__(self):
            return self.count

        def __getitem__(self, index):
            return torch.zeros(1, 8, 8), index % 10


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(64, 16)
            self.norm = nn.BatchNorm1d(16)
            self.fc2 = nn.Linear(16, 10)

        def forward(self, x):
            return self.fc2(self.norm(self.fc1(x.flatten(1))).relu())


    def main():
        model = Net()
        train = DataLoader(Digits(int(sys.argv[1])), 32, shuffle=True, num_workers=2)
        test = DataLoader(Digits(50), 50)
        optimizer = torch.optim.AdamW(model.parameters())
        for epoch in range(90):
            model.train()
            for step, (x, y) in enumerate(train):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                for x, y in test:
                    right = (model(x).argmax(1) == y).sum().item()
            torch.save({"epoch": epoch, "model": model.state_dict()}, "last.pt")
        model.load_state_dict(torch.load("last.pt")["model"])


    main()
"""


def test_first_second_and_last_batches_and_epochs_are_run(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT, "1604")
    assert report.complete
    assert [each.message for each in report.findings] == []
    assert report.rehearsal is not None
    epochs, *loaders = moments(report.rehearsal.story, "loop")
    assert (epochs.turns, epochs.total) == ((1, 2, 90), 90)
    assert [(each.turns[-1], each.total) for each in loaders] == [(51, 51), (1, 1)]
    assert 3 <= len(loaders[0].turns) <= 6
    batches = moments(report.rehearsal.story, "batches")
    assert batches[0].shapes == (
        "(32, 1, 8, 8) float32, (32,) int64",
        "(4, 1, 8, 8) float32, (4,) int64",
    )


def test_the_last_batch_breaks_batch_norm_at_its_line(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT, "1601")
    (found,) = report.findings
    assert found.code == "one-value-per-channel"
    assert found.span is not None
    assert found.span.line == 26
    assert report.complete


def test_nothing_is_written_and_what_was_saved_is_loaded(tmp_path: Path) -> None:
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        report = rehearsed(tmp_path, SCRIPT, "64")
    finally:
        os.chdir(here)
    assert report.findings == ()
    assert os.listdir(tmp_path) == ["train.py"]
    assert report.rehearsal is not None
    assert moments(report.rehearsal.story, "load")[0].text == "last.pt"


def test_products_with_sparse_matrices_have_the_shapes_of_dense_ones(
    tmp_path: Path,
) -> None:
    report = rehearsed(
        tmp_path,
        """\
        import torch

        graph = torch.diag(torch.rand(900)).to_sparse()
        weight = torch.nn.Parameter(torch.randn(900, 7))
        loss = torch.mm(graph, weight).sum() + torch.sparse.mm(graph, weight).sum()
        loss.backward()
        assert weight.grad.shape == (900, 7)
        """,
    )
    assert report.findings == ()
    assert report.complete


SPARSE = """\
    import torch
    from torch import nn

    table = nn.{kind}(500, 8, sparse=True)
    optimizer = torch.optim.{optimizer}(table.parameters(), lr=0.1)
    for step in range(5):
        words = torch.randint(500, (32, 6))
        loss = table(words).square().mean()
        optimizer.zero_grad()
        loss.backward()
        assert table.weight.grad.is_sparse
        optimizer.step()
    shapes = {{
        name: tuple(value.shape)
        for name, value in optimizer.state[table.weight].items()
        if isinstance(value, torch.Tensor) and value.dim()
    }}
    print(sorted(shapes.items()))
"""


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
@pytest.mark.parametrize("optimizer", ["SGD", "Adagrad", "SparseAdam"])
def test_sparse_gradients_are_stepped(
    tmp_path: Path, kind: str, optimizer: str
) -> None:
    report = rehearsed(tmp_path, SPARSE.format(kind=kind, optimizer=optimizer))
    assert report.findings == ()
    assert report.complete


@pytest.mark.parametrize("optimizer", ["Adam", "AdamW"])
def test_sparse_gradients_that_an_optimizer_refuses(
    tmp_path: Path, optimizer: str
) -> None:
    text = SPARSE.format(kind="Embedding", optimizer=optimizer)
    (found,) = rehearsed(tmp_path, text).findings
    assert f"`{optimizer}` does not take the sparse gradients" in found.message
    assert "does not support sparse gradients" in found.torch_message


def test_dense_gradients_that_an_optimizer_refuses(tmp_path: Path) -> None:
    text = SPARSE.format(kind="Embedding", optimizer="SparseAdam")
    text = text.replace(", sparse=True", "").replace("assert", "print() #")
    (found,) = rehearsed(tmp_path, text).findings
    assert "does not support dense gradients" in found.message


@pytest.mark.parametrize("optimizer", ["Adam", "SparseAdam"])
def test_each_step_is_counted(tmp_path: Path, optimizer: str) -> None:
    text = f"""\
        import torch
        from torch import nn

        table = nn.Embedding(50, 8, sparse={optimizer == "SparseAdam"})
        optimizer = torch.optim.{optimizer}(table.parameters(), lr=0.1)


        def step():
            optimizer.zero_grad()
            table(torch.randint(50, (32, 6))).square().mean().backward()
            optimizer.step()


        step(), step(), step(), step(), step()
        assert int(optimizer.state[table.weight]["step"]) == 5
        """
    assert rehearsed(tmp_path, text).findings == ()
