"""Norms, decoders and collate functions: what keeps the meaning of each dim is tried
first, and a call that torch refuses is refused in a rehearsal, too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

HEAD = "import torch\nfrom torch import nn\n"
CASES = {
    "a batch norm of a sequence": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.embed, self.norm = nn.Embedding(50, 32), nn.BatchNorm1d(32)\n"
        "    def forward(self, x):\n"
        "        return self.norm(self.embed(x)).mean(1)\n"
        "Net()(torch.randint(0, 50, (4, 12))).sum().backward()",
        "`self.norm(self.embed(x).transpose(1, 2)).transpose(1, 2)`",
    ),
    "a layer norm of channels": (
        "net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.LayerNorm(16), nn.ReLU())\n"
        "net(torch.randn(8, 3, 10, 10)).sum().backward()",
        "`nn.GroupNorm(1, 16)`",
    ),
    "two transposed convolutions": (
        "down = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.Conv2d(8, 16, 3, 2, 1))\n"
        "up = nn.Sequential(\n"
        "    nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1),\n"
        "    nn.ConvTranspose2d(8, 1, 3, stride=2, padding=1),\n"
        ")\n"
        "x = torch.rand(8, 1, 28, 28)\n"
        "nn.MSELoss()(up(down(x)), x).backward()",
        "`nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1, output_padding=1)`"
        " and 1 more",
    ),
    "an index for each row": (
        "q = torch.randn(32, 4, requires_grad=True)\n"
        "a = torch.randint(0, 4, (32,))\n"
        "print(q.gather(1, a).shape)",
        "`q.gather(1, a.unsqueeze(1)).squeeze(1)`",
    ),
    "lists of a collate function": (
        "items = [(torch.randn(6), i % 3) for i in range(12)]\n"
        "def collate(batch):\n"
        "    xs = [x for x, _ in batch]\n"
        "    return xs, torch.tensor([y for _, y in batch])\n"
        "net = nn.Linear(6, 3)\n"
        "loader = torch.utils.data.DataLoader(items, 4, collate_fn=collate)\n"
        "for x, y in loader:\n"
        "    nn.functional.cross_entropy(net(x), y).backward()",
        "`torch.stack(xs)`",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_fix_keeps_the_meaning(case: str, tmp_path: Path) -> None:
    body, wanted = CASES[case]
    report = rehearsed(tmp_path, f"{HEAD}{body}\n")
    (finding,) = (f for f in report.findings if f.severity == "error")
    fixes = [fix.message for fix in finding.fixes if fix.checked]
    assert fixes[0] == wanted
    assert not {"`a.unsqueeze(0)`", "`nn.LayerNorm(8)`"} & {*fixes}


@pytest.mark.parametrize(("extra", "code"), [(1, ""), (3, "output-padding-too-large")])
def test_an_output_padding_that_torch_refuses(
    extra: int, code: str, tmp_path: Path
) -> None:
    body = (
        f"up = nn.ConvTranspose2d(4, 1, 3, stride=2, output_padding={extra})\n"
        "up(torch.randn(2, 4, 5, 5)).sum().backward()"
    )
    report = rehearsed(tmp_path, f"{HEAD}{body}\n")
    codes = [f.code for f in report.findings if f.severity == "error"]
    assert codes == ([code] if code else [])


def test_an_item_that_is_none_is_named(tmp_path: Path) -> None:
    body = (
        "class Items(torch.utils.data.Dataset):\n"
        "    def __len__(self):\n"
        "        return 8\n"
        "    def __getitem__(self, i):\n"
        "        return None if i == 2 else torch.randn(3)\n"
        "for x in torch.utils.data.DataLoader(Items(), 4):\n"
        "    nn.Linear(3, 1)(x).sum().backward()"
    )
    report = rehearsed(tmp_path, f"{HEAD}{body}\n")
    messages = [f.message for f in report.findings if f.severity == "error"]
    assert messages[0].startswith("item [2] of the data set is None")
