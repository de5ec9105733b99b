"""Folders 1, 10, 11, 2 whose class numbers are read as the numbers of the folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import csv
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, random_split

class ImageFolder(Dataset):
    def __init__(self, names):
        self.classes = sorted(names)
        self.class_to_idx = {name: n for n, name in enumerate(self.classes)}

    def __len__(self):
        return 48

    def __getitem__(self, n):
        return torch.randn(6), n % len(self.classes)

STAGES = [NAMES for n in range(1, 13)]
data = ImageFolder(STAGES)
loader = DataLoader(PART, batch_size=8, shuffle=True)
net = nn.Linear(6, 12)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    correct = 0
    for x, y in loader:
        optimizer.zero_grad()
        out = net(x)
        nn.functional.cross_entropy(out, y).backward()
        optimizer.step()
        correct += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch + 1}: {correct / len(data)}")
net.eval()
"""
ONE = "torch.randn(1, 6)"
WRONG = {
    "counted from one": f"print(net({ONE}).argmax(1).item() + 1)",
    "by a function": (
        "@torch.no_grad()\ndef predict(x):\n    return net(x).argmax(1).item()\n"
        f"stage = predict({ONE})\nrows = [stage + 1]"
    ),
    "the second of max": f"_, pred = torch.max(net({ONE}), 1)\nprint(1 + pred.item())",
    "written": (
        "rows = []\nfor n in range(4):\n  with torch.no_grad():\n"
        f"    k = net({ONE}).argmax(dim=1).item()\n    rows.append((n, k))\n"
        "with open('out.csv', 'w') as file:\n    for n, k in rows:\n"
        "        file.write(f'{n},{k}\\n')"
    ),
    "a count of classes": (
        f"print(len(data.classes))\nprint(net({ONE}).argmax(1).item() + 1)"
    ),
}
RIGHT = {
    "a map": f"print(int(data.classes[net({ONE}).argmax(1).item()]))",
    "an inverse map": (
        "names = {n: name for name, n in data.class_to_idx.items()}\n"
        f"print(names[net({ONE}).argmax(1).item()], net({ONE}).argmax(1).item() + 1)"
    ),
    "an accuracy": f"print((net({ONE}).argmax(1) == 3).float().mean().item())",
    "a count of the same name": (
        f"idx = net({ONE}).argmax(1).item()\n"
        "for idx, batch in enumerate(loader):\n    print(idx + 1)"
    ),
    "another count": f"k = net({ONE}).argmax(1).item()\nprint(epoch + 1, k)",
    "written beside labels": (
        "file = open('out.csv', 'w')\nfor x, label in loader:\n"
        "    pred = net(x).argmax(1)[0].item()\n"
        "    file.write(f'{label[0]},{pred}\\n')"
    ),
}


def write_script(end: str, names: str = "str(n)", part: str = "data") -> str:
    return SCRIPT.replace("NAMES", names).replace("PART", part) + end + "\n"


def find_codes(folder: Path, text: str) -> list[str]:
    report = rehearsed(folder, text)
    assert report.complete
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize("name", WRONG)
def test_numbers_of_classes_by_text_are_found(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, write_script(WRONG[name])) == ["classes-by-text"]


def test_a_part_of_the_data_is_looked_through(tmp_path: Path) -> None:
    text = write_script(
        WRONG["counted from one"], part="random_split(data, [40, 8])[0]"
    )
    assert "classes-by-text" in find_codes(tmp_path, text)


def test_the_fix_reads_the_name(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_script(WRONG["the second of max"]))
    assert [fix.message for fix in report.findings[0].fixes] == [
        "`int(data.classes[pred.item()])`"
    ]


@pytest.mark.parametrize("name", RIGHT)
def test_mapped_classes_are_right(name: str, tmp_path: Path) -> None:
    assert "classes-by-text" not in find_codes(tmp_path, write_script(RIGHT[name]))


@pytest.mark.parametrize("names", ["f'{n:02d}'", "f'stage {n}'", "str(n + 10)"])
def test_names_in_order_are_right(names: str, tmp_path: Path) -> None:
    text = write_script(WRONG["counted from one"], names)
    assert "classes-by-text" not in find_codes(tmp_path, text)
