"""Mistakes of trainings in settings without a loader, with objects that count, and with
functions that one loop calls.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed

MODEL = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(70, 6), torch.randint(3, (70,))
loader = DataLoader(TensorDataset(x, y), 16)
model = nn.Linear(6, 3)
criterion = nn.CrossEntropyLoss()


class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n=1):
        self.sum += VALUE
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


"""


def list_findings(folder: Path, text: str, value: str = "value * n") -> list[str]:
    """The code and the text of the line of each finding in a program."""
    report = rehearsed(folder, MODEL.replace("VALUE", value) + dedent(text))
    assert report.complete
    lines = (folder / "train.py").read_text().splitlines()
    return [
        f"{finding.code}: {lines[finding.span.line - 1].strip()}"
        for finding in report.findings
        if finding.span is not None
    ]


MEANS = {
    "parts of a permutation": """
        total = 0.0
        for rows in torch.randperm(len(x)).split(16):
            loss = criterion(model(x[rows]), y[rows])
            total += loss.item()
        print(total / len(x))  # here
    """,
    "a range with a step": """
        losses, n = [], x.shape[0]
        for start in range(0, n, 16):
            stop = start + 16
            losses.append(criterion(model(x[start:stop]), y[start:stop]))
        print(sum(losses) / n)  # here
    """,
    "sizes of the sets by their names": """
        loaders = {"train": loader, "val": DataLoader(loader.dataset, 32)}
        counts = {phase: len(data) for phase, data in (("train", x), ("val", x))}
        for phase in ("train", "val"):
            total = 0.0
            for a, b in loaders[phase]:
                total += criterion(model(a), b).item()
            print(total / counts[phase])  # here
    """,
    "a generator of the program": """
        def batches(data, size):
            for rows in torch.arange(len(data)).split(size):
                yield rows

        total = 0.0
        for rows in batches(x, 16):
            total += criterion(model(x[rows]), y[rows]).item()
        print(total / len(x))  # here
    """,
    "a loss that a function returns": """
        def step(rows):
            loss = criterion(model(x[rows]), y[rows])
            return loss.item()

        total = 0.0
        for rows in torch.randperm(70).split(16):
            total += step(rows)
        print(total / len(y) if len(y) else 0)
        print(total / 70, total / x.size(0))
    """,
}


@pytest.mark.parametrize("body", MEANS.values(), ids=MEANS)
def test_means_over_samples_without_a_loader(tmp_path: Path, body: str) -> None:
    findings = list_findings(tmp_path, body)
    if "# here" in body:
        assert findings[0].endswith("# here")
    assert {text.partition(":")[0] for text in findings} <= {"mean-over-samples"}


RIGHT_MEANS = {
    "means that are weighted": """
        total = 0.0
        for rows in torch.randperm(len(x)).split(16):
            total += criterion(model(x[rows]), y[rows]).item() * len(rows)
        print(total / len(x))
    """,
    "single rows": """
        total = 0.0
        for i in range(0, len(x), 1):
            total += criterion(model(x[i]), y[i]).item()
        print(total / len(x))
    """,
    "the number of parts": """
        total, parts = 0.0, torch.randperm(len(x)).split(16)
        for rows in parts:
            total += criterion(model(x[rows]), y[rows]).item()
        print(total / len(parts))
    """,
    "a meter that weighs": """
        meter, right = Meter(), Meter()
        for a, b in loader:
            meter.update(criterion(model(a), b).item(), len(a))
            hits = (model(a).argmax(1) == b).sum().item()
            right.update(hits / len(a), len(a))
        print(meter.avg, right.avg)
    """,
}


@pytest.mark.parametrize("body", RIGHT_MEANS.values(), ids=RIGHT_MEANS)
def test_right_means_are_left_alone(tmp_path: Path, body: str) -> None:
    assert list_findings(tmp_path, body) == []


def test_a_meter_that_adds_means_and_divides_by_samples(tmp_path: Path) -> None:
    body = """
        meter = Meter()
        for a, b in loader:
            meter.update(criterion(model(a), b).item(), a.size(0))  # here
        print(meter.avg)
    """
    (text,) = list_findings(tmp_path, body, "value")
    assert text.startswith("mean-over-samples")
    assert text.endswith("# here")
    body = body.replace(".item(), a.size(0)", ".item() * len(a), a.size(0)")
    assert list_findings(tmp_path, body, "value") == []


ACCURACIES = {
    "mean-of-means": """
        def accuracy(scores, labels):
            return 100 * scores.argmax(1).eq(labels).float().mean().item()

        meter = Meter()
        with torch.no_grad():
            for a, b in loader:
                meter.update(accuracy(model(a), b))  # here
        print(meter.avg)
    """,
    "count-over-batches": """
        hits, n = 0, 0
        for a, b in loader:
            hits += (model(a).argmax(1) == b).sum().item()
            n += 1
        print(100 * hits / (n * 16))  # here
    """,
}


@pytest.mark.parametrize("code", ACCURACIES)
def test_accuracies_of_uneven_batches(tmp_path: Path, code: str) -> None:
    body = ACCURACIES[code]
    (text,) = list_findings(tmp_path, body)
    assert text.startswith(code)
    assert text.endswith("# here")
    even = body.replace("in loader", "in DataLoader(TensorDataset(x[:64], y[:64]), 16)")
    assert list_findings(tmp_path, even) == []


def test_counts_of_a_dict_divided_by_the_number_of_batches(tmp_path: Path) -> None:
    body = """
        sums = {"loss": 0.0, "right": 0}
        for a, b in loader:
            sums["loss"] += criterion(model(a), b).item()
            sums["right"] += (model(a).argmax(1) == b).sum().item()
        print({k: v / len(loader) for k, v in sums.items()})  # here
    """
    (text,) = list_findings(tmp_path, body)
    assert text.startswith("count-over-batches")
    assert text.endswith("# here")
    right = body.replace('["right"] +=', '["right"] += 1 / len(b) *')
    assert list_findings(tmp_path, right) == []


@pytest.mark.parametrize(
    "by", ["n", "len(loader)"], ids=["counted from 1 on", "the length"]
)
def test_means_times_sizes_divided_by_the_number_of_batches(
    tmp_path: Path, by: str
) -> None:
    body = f"""
        total = 0.0
        for n, (a, b) in enumerate(loader, start=1):
            total += criterion(model(a), b).item() * len(a)
        print(total / {by})  # here
    """
    (text,) = list_findings(tmp_path, body)
    assert text.startswith("count-over-batches")
    assert text.endswith("# here")
    for right in ("len(loader.dataset)", "len(x)"):
        legal = body.replace(f"total / {by}", f"total / {right}")
        assert list_findings(tmp_path, legal) == []


EPOCHS = {
    "sums of an object": """
        class Trainer:
            def __init__(self):
                self.right, self.n = 0, 0

            def batch(self, rows):
                self.right += (model(x[rows]).argmax(1) == y[rows]).sum().item()
                self.n += len(rows)

            def run(self):
                for epoch in range(3):
                    BEGIN
                    for rows in torch.randperm(70).split(16):
                        self.batch(rows)
                    print(self.right / self.n)  # here

        Trainer().run()
    """,
    "a dict that a function adds to": """
        def add(sums, rows):
            sums["right"] += (model(x[rows]).argmax(1) == y[rows]).sum().item()
            sums["n"] += len(rows)

        stats = dict.fromkeys(["right", "n"], 0)
        for epoch in range(3):
            BEGIN
            for rows in torch.randperm(70).split(16):
                add(stats, rows)
            print(stats["right"] / stats["n"])  # here
    """,
    "a meter": """
        meter = Meter()
        for epoch in range(3):
            BEGIN
            for a, b in loader:
                meter.update(criterion(model(a), b).item(), len(a))
            print(meter.avg)  # here
    """,
}
BEGINS = {
    "sums of an object": "self.right = self.n = 0",
    "a dict that a function adds to": "stats = dict.fromkeys(['right', 'n'], 0)",
    "a meter": "meter = Meter()",
}


@pytest.mark.parametrize("name", EPOCHS)
def test_sums_that_no_epoch_begins_anew(tmp_path: Path, name: str) -> None:
    (text,) = list_findings(tmp_path, EPOCHS[name].replace("BEGIN", "pass"))
    assert text.startswith("count-not-reset")
    assert text.endswith("# here")
    assert list_findings(tmp_path, EPOCHS[name].replace("BEGIN", BEGINS[name])) == []


def test_a_count_that_the_names_beside_it_say(tmp_path: Path) -> None:
    body = """
        for epoch in range(3):
            sum_tr, sum_va, n_va = 0.0, 0.0, 0
            for rows in torch.arange(32).split(16):
                sum_tr += criterion(model(x[rows]), y[rows]).item()
            for rows in torch.arange(32, 70).split(16):
                sum_va += criterion(model(x[rows]), y[rows]).item() * len(rows)
                n_va += len(rows)
            mean_va = sum_tr / n_va  # here
            print(epoch, sum_tr / 2, mean_va)
    """
    (text,) = list_findings(tmp_path, body)
    assert text.startswith("count-not-read")
    assert text.endswith("# here")
    assert list_findings(tmp_path, body.replace("sum_tr / n_va", "sum_va / n_va")) == []


def test_numpy_reads_a_leaf_where_no_gradients_are_recorded(tmp_path: Path) -> None:
    body = """
        points = torch.linspace(0, 3, 40).requires_grad_()
        with torch.no_grad():
            print(points.numpy().shape, model.weight.numpy().shape)
    """
    assert list_findings(tmp_path, body) == []
    recorded = body.replace("with torch.no_grad()", "if True")
    assert (
        rehearsed(tmp_path, MODEL.replace("VALUE", "value") + dedent(recorded))
        .findings[0]
        .code
        == "to-numpy"
    )


def test_a_model_that_is_loaded_whole_has_its_statistics(tmp_path: Path) -> None:
    text = """
        net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(2):
            net.train()
            for a, b in loader:
                opt.zero_grad()
                criterion(net(a), b).backward()
                opt.step()
            torch.save(net, "net.pt")
        again = torch.load("net.pt", weights_only=False)
        again.eval()
        with torch.no_grad():
            print(again(x).argmax(1))
    """
    assert list_findings(tmp_path, text) == []
