"""Lines that take a module for a method, or a tensor for a dict."""

from __future__ import annotations

from pathlib import Path

import pytest

from rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

HEAD = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

"""

WRAPPED = """\
net = nn.DataParallel(nn.Linear(3, 2))
print(net(torch.randn(4, 3)).shape)
torch.save(net.module(), "net.pt")
"""

OWN_ATTRIBUTE = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return x @ self.head().weight.t()

print(Net()(torch.randn(4, 3)).shape)
"""

LACKS_INPUT = """\
net = nn.Linear(3, 2)
print(net(torch.randn(4, 3)).shape)
print(net().shape)
"""

ENDS_EARLY = """\
class Data(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        image = torch.randn(3, 8, 8)
        return 0
        return {"image": image}

for sample in DataLoader(Data(), batch_size=4):
    print(sample["image"].shape)
"""

NUMBERS = """\
class Data(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return float(i)

for sample in DataLoader(Data(), batch_size=4):
    print(sample["image"].shape)
"""


@pytest.mark.parametrize(
    ("text", "part", "fixes"),
    [
        (WRAPPED, "`net.module()` lacks `input`", ["`net.module`"]),
        (OWN_ATTRIBUTE, "`self.head()` lacks `input`", ["`self.head`"]),
        (LACKS_INPUT, "`net()` lacks `input`, which `Linear.forward` takes", []),
        (ENDS_EARLY, "a number, not a dict", ["without `return 0`"]),
        (NUMBERS, "a number, not a dict", []),
    ],
    ids=["wrapped", "attribute", "no input", "early return", "numbers"],
)
def test_what_the_line_reads_is_named(
    tmp_path: Path, text: str, part: str, fixes: list[str]
) -> None:
    (only,) = rehearsed(tmp_path, HEAD + text).findings
    assert part in only.message
    assert [fix.message for fix in only.fixes] == fixes


def test_a_constructor_that_is_misspelt_twice(tmp_path: Path) -> None:
    text = """
class Net(nn.Module):
    def _init_(self):
        super()._init_()
        self.fc = nn.Linear(3, 1)

    def forward(self, x):
        return self.fc(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(2, 3)).sum().backward()
optimizer.step()
"""
    (only,) = rehearsed(tmp_path, HEAD + text).findings
    assert [fix.message for fix in only.fixes] == ["`def __init__` for `def _init_`"]
