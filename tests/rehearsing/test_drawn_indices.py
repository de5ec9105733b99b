"""Ids and classes that are drawn beyond the end of what they index."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(1000, 8)
        self.fc = nn.Linear(8, 10)

    def forward(self, ids):
        return self.fc(self.table(ids))

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    ids, labels = {ids}, {labels}
    logits = model(ids)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
IDS = "torch.randint(0, 1000, (512, 1024))"
LABELS = "torch.randint(0, 10, (512, 1024))"
SCORES = "torch.randn(512, 1024)"
LOSS = "F.cross_entropy(logits.flatten(0, 1), labels.flatten())"
BEYOND = {
    "ids": ({"ids": IDS.replace("1000", "1001")}, "rows"),
    "shifted": ({"ids": f"{IDS} + 1"}, "rows"),
    "one limit": ({"ids": "torch.randint(1001, (512, 1024))"}, "rows"),
    "by keyword": ({"ids": "torch.randint(high=1001, size=(512, 1024))"}, "rows"),
    "in place": (
        {"ids": "torch.empty(512, 1024, dtype=torch.long).random_(1002)"},
        "rows",
    ),
    "cast": ({"ids": "torch.stack(list(torch.randint(1001, (512, 1024)).int()))"},
             "rows"),
    "classes": ({"labels": LABELS.replace("10,", "11,")}, "classes"),
    "one hot": (
        {
            "labels": LABELS.replace("10,", "12,"),
            "loss": "(F.one_hot(labels, 10) * logits.log_softmax(-1)).mean()",
        },
        "classes",
    ),
    "buckets": ({"labels": f"torch.bucketize({SCORES}, torch.rand(9)) + 1"}, "classes"),
    "gathered": (
        {
            "labels": LABELS.replace("10,", "11,"),
            "loss": "logits.gather(2, labels.unsqueeze(2)).mean()",
        },
        "elements in dim 2",
    ),
}  # fmt: skip
WITHIN = {
    "ids": {},
    "shifted down": {"ids": "torch.randint(1, 1001, (512, 1024)) - 1"},
    "reversed": {"ids": "999 - torch.randint(0, 1000, (512, 1024))"},
    "clamped": {"ids": "torch.randint(0, 2000, (512, 1024)).clamp(max=999)"},
    "remainder": {"ids": "torch.randint(0, 2000, (512, 1024)) % 1000"},
    "chosen": {
        "ids": "torch.where((t := torch.randint(0, 2000, (512, 1024))) < 1000, t, 0)"
    },
    "buckets": {"labels": f"torch.bucketize({SCORES}, torch.rand(10))"},
    "ignored": {
        "labels": LABELS.replace("10,", "11,"),
        "loss": LOSS.replace("flatten())", "flatten(), ignore_index=10)"),
    },
}


def codes(folder: Path, **parts: str) -> list[tuple[str, str]]:
    """The codes and messages of what is found in the script with these parts."""
    whole = {"ids": IDS, "labels": LABELS, "loss": LOSS, **parts}
    report = rehearsed(folder, SCRIPT.format(**whole))
    return [(finding.code, finding.message) for finding in report.findings]


@pytest.mark.parametrize("case", BEYOND)
def test_an_index_beyond_the_end_is_told(case: str, tmp_path: Path) -> None:
    parts, what = BEYOND[case]
    ((code, message),) = codes(tmp_path, **parts)
    assert code == "drawn-index"
    assert what in message


@pytest.mark.parametrize("case", WITHIN)
def test_an_index_within_is_not_told(case: str, tmp_path: Path) -> None:
    assert codes(tmp_path, **WITHIN[case]) == []


@pytest.mark.parametrize(
    ("parts", "edit"),
    [
        ({"ids": IDS.replace("1000", "1001")}, "nn.Embedding(1001, 8)"),
        ({"labels": LABELS.replace("10,", "11,")}, "nn.Linear(8, 11)"),
        (BEYOND["buckets"][0], "labels.flatten() - 1"),
    ],
)
def test_a_row_or_class_for_each_index_is_a_fix(
    parts: dict[str, str], edit: str, tmp_path: Path
) -> None:
    whole = {"ids": IDS, "labels": LABELS, "loss": LOSS, **parts}
    (finding,) = rehearsed(tmp_path, SCRIPT.format(**whole)).findings
    assert edit in finding.fixes[0].message
    assert finding.fixes[0].checked


def test_columns_of_items_that_are_stacked_are_not_mistaken(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        """\
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, Dataset

        class Users(Dataset):
            def __len__(self):
                return 8
            def __getitem__(self, i):
                return torch.tensor([i + 40, i % 2, i % 5])

        number, group = nn.Embedding(50, 4), nn.Embedding(2, 4)
        for users in DataLoader(Users(), batch_size=4):
            (number(users[:, 0]) + group(users[:, 1])).sum().backward()
        """,
    )
    assert [finding.message for finding in report.findings] == []


SAMPLING = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.fc = nn.Embedding(ROWS, 8), nn.Linear(8, 12)

    def forward(self, ids):
        return self.fc(self.table(ids))

model = Net()
ids = torch.zeros(1, 1, dtype=torch.long)
with torch.no_grad():
    for _ in range(5):
        chances = model(ids)[:, -1].softmax(-1)
        ids = torch.cat((ids, torch.multinomial(chances, 1)), dim=1)
"""


def test_tokens_that_are_sampled_beyond_the_table_are_told(tmp_path: Path) -> None:
    (found,) = rehearsed(tmp_path, SAMPLING.replace("ROWS", "10")).findings
    assert found.code == "drawn-index"
    assert "`ids` is drawn from 0 to 11, one of 12 columns" in found.message
    assert rehearsed(tmp_path, SAMPLING.replace("ROWS", "12")).findings == ()
    assert rehearsed(tmp_path, SAMPLING.replace("ROWS", "13")).findings == ()


GRAPH = """\
import torch

edges = torch.tensor([[{first}, 1], [1, 2], [2, {last}]]).t()
n = 3
weights = torch.ones(edges.shape[1])
adjacency = {made}
net = torch.nn.Linear(4, 2)
torch.sparse.mm(adjacency, net(torch.randn(n, 4))).sum().backward()
"""
MADE = [
    "torch.sparse_coo_tensor(edges, weights, (n, n))",
    "torch.sparse_coo_tensor(edges, weights, size=[n, n]).coalesce()",
]


@pytest.mark.parametrize("made", MADE)
def test_nodes_of_a_sparse_tensor_count_from_0(tmp_path: Path, made: str) -> None:
    text = GRAPH.format(first=1, last=3, made=made)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "index-out-of-range"
    assert "of size (3, 3) has indices 0 to 2 in dim 1" in finding.message
    new = made.replace("edges", "edges - 1", 1).removesuffix(".coalesce()")
    assert finding.fixes[0].message == f"`{new}`"


@pytest.mark.parametrize("made", MADE)
def test_nodes_within_a_sparse_tensor_are_right(tmp_path: Path, made: str) -> None:
    text = GRAPH.format(first=0, last=1, made=made)
    assert not rehearsed(tmp_path, text).findings


EMPTY = """\
import torch

edges = torch.empty(2, 0, dtype=torch.long)
adjacency = torch.sparse_coo_tensor(edges, {weights}, (3, 3))
torch.sparse.mm(adjacency, torch.randn(3, 4))
"""


@pytest.mark.parametrize("weights", ["torch.ones(0)", "torch.rand(0)"])
def test_a_sparse_tensor_without_entries_is_right(weights: str, tmp_path: Path) -> None:
    assert not rehearsed(tmp_path, EMPTY.format(weights=weights)).findings


def test_a_sparse_tensor_without_known_weights_is_checked(tmp_path: Path) -> None:
    text = GRAPH.format(first=1, last=3, made=MADE[0])
    text = text.replace("torch.ones(edges.shape[1])", "torch.rand(3)")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "index-out-of-range"


MASKS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Seeds(Dataset):
    def __init__(self, count):
        self.images = torch.rand(count, 3, 64, 64)
        self.masks = {masks}

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index], self.masks[index]


head = nn.Conv2d(8, {outputs}, 1)
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), head)
optimizer = torch.optim.Adam(net.parameters())
criterion = nn.CrossEntropyLoss()
for image, mask in DataLoader(Seeds(40), batch_size=8, shuffle=True):
    optimizer.zero_grad()
    loss = criterion(net(image), {target})
    loss.backward()
    optimizer.step()
"""
WHITE = "(torch.rand(count, 1, 64, 64) > 0.5).float() * 255"


def test_black_and_white_masks_are_numbers_of_two_classes(tmp_path: Path) -> None:
    target = "mask.squeeze(1).long()"
    text = MASKS.format(masks=WHITE, outputs=2, target=target)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "drawn-index"
    assert finding.message.startswith(f"`{target}` is 0 or 255, ")
    assert finding.fixes[0].message == "`(self.masks[index] > 0).long()`"


def test_what_masks_hold_is_told_behind_their_shape(tmp_path: Path) -> None:
    text = MASKS.format(masks=WHITE, outputs=2, target="mask")
    shape, values = rehearsed(tmp_path, text).findings
    assert shape.fixes[0].message == "`mask.squeeze(1).long()`"
    assert (values.code, bool(values.fixes)) == ("drawn-index", True)


@pytest.mark.parametrize(
    "masks",
    [
        WHITE.removesuffix(" * 255"),
        f"({WHITE}) / 255",
        "(torch.rand(count, 1, 64, 64) > 1.5).float() * 255",
        f"({WHITE}).clamp(max=1)",
    ],
)
def test_masks_of_0_and_1_are_right(masks: str, tmp_path: Path) -> None:
    text = MASKS.format(masks=masks, outputs=2, target="mask.squeeze(1).long()")
    assert not rehearsed(tmp_path, text).findings


@pytest.mark.parametrize(
    ("masks", "target", "fix"),
    [
        (
            "(torch.rand(count, 1, 64, 64) > 0.5).float()",
            "mask",
            "`nn.BCEWithLogitsLoss()`",
        ),
        (
            "(torch.rand(count, 64, 64) > 0.5).long()",
            "mask",
            "`nn.BCEWithLogitsLoss()` and `mask.unsqueeze(1).float()`",
        ),
        (
            "torch.randint(0, 2, (count, 1, 64, 64))",
            "mask.squeeze(1)",
            "`nn.BCEWithLogitsLoss()` and `mask.squeeze(1).unsqueeze(1).float()`",
        ),
    ],
)
def test_a_cross_entropy_over_one_map_is_always_0(
    masks: str, target: str, fix: str, tmp_path: Path
) -> None:
    text = MASKS.format(masks=masks, outputs=1, target=target)
    findings = rehearsed(tmp_path, text).findings
    found = {finding.code: finding for finding in findings}
    assert "the loss is 0 whatever it says" in found["single-class"].message
    assert found["single-class"].fixes[0].message == fix


PICKED = """\
import torch
from torch import nn

ids = torch.tensor([[row % 9, row % {count}] for row in range(300)])
labels = torch.tensor([row % {classes} for row in range(300)])
net = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(8, 5))
{before}
for {loop}:
    x, y = {rows}
    nn.functional.cross_entropy(net(x), y).backward()
"""
BATCHES = "idx in torch.randperm(300).split(50)"
WAYS_TO_PICK = [
    {"loop": BATCHES, "rows": "ids[idx], labels[idx]"},
    {"loop": "step in range(4)",
     "rows": "(lambda i: (ids[i], labels[i]))(torch.randint(0, 300, (200,)))"},
    {"loop": "i in range(0, 300, 50)", "before": "order = torch.randperm(300)",
     "rows": "ids[order[i : i + 50]], labels[order[i : i + 50]]"},
    {"loop": BATCHES, "rows": "ids.index_select(0, idx), labels.index_select(0, idx)"},
]  # fmt: skip


@pytest.mark.parametrize("parts", WAYS_TO_PICK)
@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"count": "11"}, ["reads rows 0 to 8 of ", " holds "]),
        ({"classes": "7"}, ["reads classes 0 to 4 of ", " holds "]),
        ({}, []),
    ],
)
def test_rows_that_a_draw_picks_are_known_data(
    parts: dict[str, str], sizes: dict[str, str], words: list[str], tmp_path: Path
) -> None:
    whole = {"count": "9", "classes": "5", "before": "", **parts, **sizes}
    findings = rehearsed(tmp_path, PICKED.format(**whole)).findings
    assert [word for word in words if word not in findings[0].message] == []
    assert len(findings) == bool(words)
