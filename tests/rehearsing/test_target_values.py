"""Labels that are averaged or padded, graphs without offsets, a single class."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


def batch_of(n):
    return [(torch.randn(k, 4), torch.randint(1, 5, (k,))) for k in range(3, 3 + n)]


"""
TAIL = """
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    compute_loss().backward()
    optimizer.step()
"""
MASKS = """
net = nn.Conv2d(3, {classes}, 1)
images, masks = torch.randn(4, 3, 40, 40), torch.randint({classes}, (4, 40, 40))


def compute_loss():
{lines}
    return F.cross_entropy(net(F.interpolate(images, (20, 20))), small)
"""
AVERAGED = {
    "bilinear": 'small = F.interpolate(masks[:, None].float(), (20, 20), '
    'mode="bilinear")[:, 0].long()',
    "rounded": 'small = F.interpolate(masks.unsqueeze(1).float(), size=20, '
    'mode="bilinear").round().squeeze(1).to(torch.long)',
    "in an upsampling layer": 'small = nn.Upsample(size=(20, 20), mode="bilinear")'
    "(masks[:, None].to(torch.float32))[:, 0].to(torch.int64)",
    "one by one": 'small = torch.stack([F.interpolate(m[None, None].float(), '
    '(20, 20), mode="area")[0, 0].long() for m in masks])',
}  # fmt: skip
NEAREST = {
    "nearest": "small = F.interpolate(masks[:, None].float(), (20, 20))[:, 0].long()",
    "one-hot": "hot = F.one_hot(masks, 5).permute(0, 3, 1, 2).float()\n"
    'small = F.interpolate(hot, (20, 20), mode="bilinear").argmax(1)',
    "every second pixel": "small = masks[:, ::2, ::2]",
    "a threshold": 'small = (F.interpolate(masks[:, None].float(), (20, 20), '
    'mode="bilinear") > 0.5)[:, 0].long()',
}  # fmt: skip
TAGS = """
net = nn.Linear(4, 6)
criterion = nn.CrossEntropyLoss({loss})
PAD, EOS = 0, 5


def compute_loss():
    xs, tags = zip(*batch_of(4))
    x = pad_sequence(xs, batch_first=True)
{lines}
"""
LOSS = "return criterion(net(x).flatten(0, 1), tags.flatten())"
PADDED = {
    "a name": (
        "", "tags = pad_sequence(tags, batch_first=True, padding_value=PAD)\n" + LOSS
    ),
    "the default": ("", "tags = pad_sequence(tags, True)\n" + LOSS),
    "another index": (
        "ignore_index=-1", "tags = pad_sequence(tags, batch_first=True)\n" + LOSS
    ),
    "time first": (
        "", "tags = pad_sequence(tags)\n"
        "return criterion(net(x).transpose(0, 1).flatten(0, 1), tags.reshape(-1))"
    ),
    "by hand": (
        "", "tags = torch.stack([F.pad(t, (0, 6 - len(t))) for t in tags])\n"
        "return F.cross_entropy(net(x).transpose(1, 2), tags)"
    ),
}  # fmt: skip
UNPADDED = {
    "ignored": (
        "ignore_index=PAD".replace("PAD", "0"),
        "tags = pad_sequence(tags, batch_first=True, padding_value=PAD)\n" + LOSS,
    ),
    "-100": (
        "", "tags = pad_sequence(tags, batch_first=True, padding_value=-100)\n" + LOSS
    ),
    "a mask": (
        "", "tags = pad_sequence(tags, batch_first=True)\n"
        "return criterion(net(x)[tags != PAD], tags[tags != PAD])"
    ),
    "each element": (
        'reduction="none"', "tags = pad_sequence(tags, batch_first=True)\n"
        "losses = criterion(net(x).transpose(1, 2), tags)\n"
        "return (losses * (tags != PAD)).sum() / (tags != PAD).sum()"
    ),
    "replaced": (
        "", "tags = pad_sequence(tags, batch_first=True)\n"
        "tags = tags.masked_fill(tags == PAD, -100)\n" + LOSS
    ),
    "an end": (
        "", "tags = pad_sequence(tags, batch_first=True, padding_value=EOS)\n" + LOSS
    ),
    "weights": (
        "torch.tensor([0.0, 1, 1, 1, 1, 1])",
        "tags = pad_sequence(tags, batch_first=True)\n" + LOSS
    ),
    "one length": (
        "", "xs, tags = zip(*[(x[:3], t[:3]) for x, t in batch_of(4)])\n"
        "x = pad_sequence(xs, batch_first=True)\n"
        "tags = pad_sequence(tags, batch_first=True)\n" + LOSS
    ),
}  # fmt: skip
GRAPHS = """
net = nn.Linear(4, 2)


def graphs():
    for k in (5, 6, 7):
        a = torch.arange(k)
        yield torch.randn(k, 4), torch.stack([a, (a + 1) % k])


def compute_loss():
    xs, edges, offset = [], [], 0
    for x, edge_index in graphs():
        xs.append(x)
        edges.append({edge})
        offset += len(x)
    x = torch.cat(xs)
{lines}
    return (net(x) + net(out)).square().mean()
"""
MESSAGES = "out = torch.zeros_like(x).index_add_(0, dst, x[src])"
ALONE = {
    "along dim 1": ("edge_index", "src, dst = torch.cat(edges, dim=1)\n" + MESSAGES),
    "a pair in each row": (
        "edge_index.t()", "e = torch.cat(edges)\nsrc, dst = e[:, 0], e[:, 1]\n"
        + MESSAGES
    ),
    "index_select": (
        "edge_index", "e = torch.cat(edges, -1)\n"
        "out = torch.zeros_like(x).index_add(0, e[1], x.index_select(0, e[0]))"
    ),
    "cast": (
        "edge_index.int()", "src, dst = torch.cat(edges, dim=1).to(torch.int64)\n"
        + MESSAGES
    ),
}  # fmt: skip
SHIFTED = {
    "offsets": (
        "edge_index + offset", "src, dst = torch.cat(edges, dim=1)\n" + MESSAGES
    ),
    "afterwards": (
        "edge_index", "steps = torch.tensor([0, 5, 11]).repeat_interleave("
        "torch.tensor([5, 6, 7]))\nsrc, dst = torch.cat(edges, dim=1) + steps\n"
        + MESSAGES
    ),
    "in place": (
        "edge_index", "e = torch.cat(edges, dim=1)\ne[:, 5:11] += 5\ne[:, 11:] += 11\n"
        "src, dst = e\n" + MESSAGES
    ),
    "one by one": (
        "edge_index", "out = torch.cat([torch.zeros_like(a).index_add(0, e[1], a[e[0]])"
        " for a, e in zip(xs, edges)])"
    ),
}  # fmt: skip
SCORES = """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, {outputs}))
classes = 1
other = nn.Linear(4, classes)
x, y = torch.randn(16, 4), torch.randint(2, (16,))


def compute_loss():
    logits = net(x)
{lines}
    return logits.square().mean() + {loss}
"""
SINGLE = {
    "argmax": ("1", "hits = (logits.argmax(dim=1) == y).sum().item()", "0"),
    "max": ("1", "_, pred = torch.max(logits, 1)\nhits = (pred == y).sum()", "0"),
    "behind a sigmoid": (
        "1", "hits = (torch.sigmoid(logits).argmax(-1) == y).float().mean()", "0"
    ),
    "with its dim": (
        "1", "hits = (logits.argmax(1, keepdim=True)[:, 0] == y).sum()", "0"
    ),
    "a cross entropy": ("1", "", "F.cross_entropy(logits, torch.zeros_like(y))"),
}  # fmt: skip
SEVERAL = {
    "two outputs": ("2", "hits = (logits.argmax(dim=1) == y).sum().item()", "0"),
    "the sign": ("1", "hits = ((logits.squeeze(1) > 0).long() == y).sum()", "0"),
    "the best sample": ("1", "best = logits.argmax(dim=0)", "0"),
    "weights over steps": (
        "1", "w = torch.softmax(logits, dim=0)", "(w * x).sum(0).square().mean()"
    ),
    "a sequence of one step": (
        "3", "hits = (logits[:, None].argmax(dim=-1)[:, 0] == y).sum()", "0"
    ),
    "the largest value": ("1", "top = logits.max(1).values", "0"),
    "a maximum over one step": ("3", "top = logits[:, None].argmax(1)", "0"),
}  # fmt: skip


def _codes(folder: Path, text: str) -> list[tuple[str, bool]]:
    """The code of each finding, and whether an edit was tried."""
    report = rehearsed(folder, HEAD + text + TAIL)
    assert report.complete
    return [(each.code, bool(each.fixes)) for each in report.findings]


def _indent(lines: str) -> str:
    return "\n".join("    " + line for line in (lines or "pass").split("\n"))


@pytest.mark.parametrize("name", AVERAGED)
def test_averaged_labels_are_found(name: str, tmp_path: Path) -> None:
    text = MASKS.format(lines=_indent(AVERAGED[name]), classes=5)
    ((code, fixes),) = _codes(tmp_path, text)
    assert code == "interpolated-labels"
    assert fixes or name == "in an upsampling layer"


@pytest.mark.parametrize("name", NEAREST)
def test_labels_that_stay_labels_are_right(name: str, tmp_path: Path) -> None:
    text = MASKS.format(lines=_indent(NEAREST[name]), classes=5)
    assert _codes(tmp_path, text) == []


@pytest.mark.parametrize("classes", [2, 256])
def test_two_classes_and_brightnesses_may_be_averaged(
    classes: int, tmp_path: Path
) -> None:
    text = MASKS.format(lines=_indent(AVERAGED["rounded"]), classes=classes)
    assert _codes(tmp_path, text) == []


def test_the_border_of_a_mask_may_be_background(tmp_path: Path) -> None:
    lines = "small = F.pad(masks[:, ::2, ::2][:, :16, :16], (2, 2, 2, 2))"
    assert _codes(tmp_path, MASKS.format(lines=_indent(lines), classes=5)) == []


@pytest.mark.parametrize("name", PADDED)
def test_padding_as_a_class_is_found(name: str, tmp_path: Path) -> None:
    loss, lines = PADDED[name]
    ((code, fixes),) = _codes(tmp_path, TAGS.format(loss=loss, lines=_indent(lines)))
    assert code == "padded-targets"
    assert fixes or name in ("by hand", "another index")


@pytest.mark.parametrize("name", UNPADDED)
def test_padding_that_is_left_out_is_right(name: str, tmp_path: Path) -> None:
    loss, lines = UNPADDED[name]
    assert _codes(tmp_path, TAGS.format(loss=loss, lines=_indent(lines))) == []


@pytest.mark.parametrize("name", ALONE)
def test_graphs_without_offsets_are_found(name: str, tmp_path: Path) -> None:
    edge, lines = ALONE[name]
    found = _codes(tmp_path, GRAPHS.format(edge=edge, lines=_indent(lines)))
    assert found == [("graphs-without-offsets", False)]


@pytest.mark.parametrize("name", SHIFTED)
def test_graphs_with_offsets_are_right(name: str, tmp_path: Path) -> None:
    edge, lines = SHIFTED[name]
    assert _codes(tmp_path, GRAPHS.format(edge=edge, lines=_indent(lines))) == []


@pytest.mark.parametrize("name", SINGLE)
def test_a_choice_among_one_class_is_found(name: str, tmp_path: Path) -> None:
    outputs, lines, loss = SINGLE[name]
    text = SCORES.format(outputs=outputs, lines=_indent(lines), loss=loss)
    found = [code for code, _ in _codes(tmp_path, text)]
    assert found == ["single-class"]


@pytest.mark.parametrize("name", SEVERAL)
def test_several_classes_and_signs_are_right(name: str, tmp_path: Path) -> None:
    outputs, lines, loss = SEVERAL[name]
    text = SCORES.format(outputs=outputs, lines=_indent(lines), loss=loss)
    assert _codes(tmp_path, text) == []


TRUTHS = """\
import torch
from torch import nn

scores = nn.Linear(4, 3)(torch.rand(6, 4))
labels = torch.randint(0, 3, {shape})
print({truth} == scores.argmax(1))
"""
OF_ONE = {
    "of a sample": ("(6,)", "torch.argmax(labels[0])", "`labels[0]`"),
    "a column": ("(6, 1)", "labels.argmax(dim=1)", "`labels.squeeze(1)`"),
}
OF_MORE = {
    "classes": ("(6, 3)", "labels.argmax(dim=1)"),
    "all samples": ("(6,)", "labels.argmax()"),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_the_place_of_one_class_number_is_found(name: str, tmp_path: Path) -> None:
    shape, truth, fix = OF_ONE[name]
    report = rehearsed(tmp_path, TRUTHS.format(shape=shape, truth=truth))
    (finding,) = (f for f in report.findings if f.code == "single-class")
    assert [edit.message for edit in finding.fixes] == [fix]


@pytest.mark.parametrize("name", OF_MORE)
def test_the_place_of_the_largest_of_several_is_right(
    name: str, tmp_path: Path
) -> None:
    shape, truth = OF_MORE[name]
    report = rehearsed(tmp_path, TRUTHS.format(shape=shape, truth=truth))
    assert "single-class" not in [f.code for f in report.findings]
