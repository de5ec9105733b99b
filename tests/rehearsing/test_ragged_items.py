"""Items of several lengths: the function that puts them into one batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

HEAD = """\
    import torch
    import torch.nn as nn
    from torch.utils.data import DataLoader, Dataset
    {constant}
    class Data(Dataset):
        def __len__(self):
            return 12
        def __getitem__(self, i):
{item}
        def rows(self, i):
            return torch.randn(4 + i, 6)
    loader = DataLoader(Data(), batch_size=4, shuffle=True)
"""
SENTENCES = """\
    net = nn.Embedding(30, 8)
    head = nn.Linear(8, 3)
    for {names} in loader:
        nn.functional.cross_entropy(head(net(tokens).mean(1)), label).backward()
"""
TAGS = """\
    net = nn.Embedding(30, 8)
    head = nn.Linear(8, 3)
    for tokens, tags in loader:
        scores = head(net(tokens))
        nn.functional.cross_entropy(scores.flatten(0, 1), tags.flatten()).backward()
"""
BOXES = """\
    net = nn.Conv2d(3, 4, 3)
    for images, targets in loader:
        loss = 0
        for image, target in zip(images, targets):
            loss = loss + net(image).mean() * target["boxes"].float().mean()
        loss.backward()
"""
STACKED = """\
    net = nn.Conv2d(3, 4, 3)
    for images, targets in loader:
        out = net(images).mean((1, 2, 3))
        loss = sum(o * t["boxes"].mean() for o, t in zip(out, targets))
        loss.backward()
"""
REST = """\
    return {
        key: padded[key] if key in padded else torch.utils.data.default_collate(column)
        for key, column in columns.items()
    }"""
CASES = {
    "a sequence and its label": (
        "tokens = torch.randint(1, 30, (4 + i,))\nreturn tokens, i % 3",
        "",
        SENTENCES.format(names="tokens, label"),
        "def collate(items):\n"
        "    tokens, targets = zip(*items)\n"
        "    tokens = nn.utils.rnn.pad_sequence(tokens, batch_first=True)\n"
        "    return tokens, torch.utils.data.default_collate(targets)",
    ),
    "a padding that the program names": (
        "tokens, label = torch.randint(1, 30, (4 + i,)), i % 3\nreturn tokens, label",
        "PAD_IDX = 1",
        SENTENCES.format(names="tokens, label"),
        "def collate(items):\n"
        "    tokens, label = zip(*items)\n"
        "    tokens = nn.utils.rnn.pad_sequence("
        "tokens, batch_first=True, padding_value=PAD_IDX)\n"
        "    return tokens, torch.utils.data.default_collate(label)",
    ),
    "the sequences alone": (
        "return torch.randn(4 + i, 6)",
        "",
        "    net = nn.GRU(6, 8, batch_first=True)\n"
        "    for rows in loader:\n        net(rows)[0].mean().backward()\n",
        "def collate(items):\n"
        "    return nn.utils.rnn.pad_sequence(items, batch_first=True)",
    ),
    "two sequences": (
        "tokens = torch.randint(1, 30, (4 + i,))\nreturn tokens, tokens % 3",
        "",
        TAGS,
        "def collate(items):\n"
        "    tokens, targets = zip(*items)\n"
        "    tokens = nn.utils.rnn.pad_sequence(tokens, batch_first=True)\n"
        "    targets = nn.utils.rnn.pad_sequence("
        "targets, batch_first=True, padding_value=-100)\n"
        "    return tokens, targets",
    ),
    "arrays of an attribute": (
        "return self.rows(i).numpy(), i % 3",
        "",
        "    net = nn.Linear(6, 3)\n    for x, y in loader:\n"
        "        nn.functional.cross_entropy(net(x).mean(1), y).backward()\n",
        "def collate(items):\n"
        "    rows, targets = zip(*items)\n"
        "    rows = nn.utils.rnn.pad_sequence("
        "[torch.as_tensor(row) for row in rows], batch_first=True)\n"
        "    return rows, torch.utils.data.default_collate(targets)",
    ),
    "spectrograms of frequencies and frames": (
        "spec = self.rows(i).T\nreturn spec, i % 3",
        "",
        "    net, head = nn.Conv1d(6, 8, 3), nn.Linear(8, 3)\n"
        "    for x, y in loader:\n"
        "        nn.functional.cross_entropy(head(net(x).mean(2)), y).backward()\n",
        "def collate(items):\n"
        "    spec, targets = zip(*items)\n"
        "    spec = nn.utils.rnn.pad_sequence("
        "[row.T for row in spec], batch_first=True).transpose(1, 2)\n"
        "    return spec, torch.utils.data.default_collate(targets)",
    ),
    "arrays of frequencies and frames": (
        "return i % 3, self.rows(i).numpy().T",
        "",
        "    net, head = nn.GRU(6, 8, batch_first=True), nn.Linear(8, 3)\n"
        "    for y, x in loader:\n"
        "        out, _ = net(x.transpose(1, 2))\n"
        "        nn.functional.cross_entropy(head(out[:, -1]), y).backward()\n",
        "def collate(items):\n"
        "    inputs, rows = zip(*items)\n"
        "    rows = nn.utils.rnn.pad_sequence("
        "[torch.as_tensor(row).T for row in rows], batch_first=True).transpose(1, 2)\n"
        "    return torch.utils.data.default_collate(inputs), rows",
    ),
    "spectrograms with names": (
        "return {'spec': self.rows(i).T, 'label': i % 3}",
        "",
        "    net, head = nn.Conv1d(6, 8, 3), nn.Linear(8, 3)\n"
        "    for batch in loader:\n"
        "        scores = head(net(batch['spec']).mean(2))\n"
        "        nn.functional.cross_entropy(scores, batch['label']).backward()\n",
        "def collate(items):\n"
        "    columns = {key: [item[key] for item in items] for key in items[0]}\n"
        "    padded = {\n"
        '        "spec": nn.utils.rnn.pad_sequence([row.T for row in columns["spec"]],'
        " batch_first=True).transpose(1, 2),\n"
        "    }\n" + REST,
    ),
    "lists of numbers": (
        "tokens, label = list(range(1, 5 + i)), i % 3\nreturn tokens, label",
        "",
        SENTENCES.format(names="tokens, label"),
        "def collate(items):\n"
        "    tokens, label = zip(*items)\n"
        "    tokens = nn.utils.rnn.pad_sequence("
        "[torch.as_tensor(row) for row in tokens], batch_first=True)\n"
        "    return tokens, torch.utils.data.default_collate(label)",
    ),
    "fields with names": (
        "return {'tokens': torch.randint(1, 30, (4 + i,)), 'label': i % 3}",
        "",
        "    net, head = nn.Embedding(30, 8), nn.Linear(8, 3)\n"
        "    for batch in loader:\n"
        "        scores = head(net(batch['tokens']).mean(1))\n"
        "        nn.functional.cross_entropy(scores, batch['label']).backward()\n",
        "def collate(items):\n"
        "    columns = {key: [item[key] for item in items] for key in items[0]}\n"
        "    padded = {\n"
        '        "tokens": nn.utils.rnn.pad_sequence(columns["tokens"],'
        " batch_first=True),\n"
        "    }\n" + REST,
    ),
    "boxes of images": (
        "image = torch.randn(3, 16, 16 + i)\n"
        "return image, {'boxes': torch.randn(1 + i, 4)}",
        "",
        BOXES,
        "def collate(items):\n    return tuple(zip(*items))",
    ),
    "boxes of images of one size": (
        "image = torch.randn(3, 16, 16)\n"
        "return image, {'boxes': torch.randn(1 + i, 4)}",
        "",
        STACKED,
        "def collate(items):\n"
        "    image, targets = zip(*items)\n"
        "    return torch.utils.data.default_collate(image), targets",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_items_of_several_lengths_get_a_function_that_joins_them(
    name: str, tmp_path: Path
) -> None:
    item, constant, loop, function = CASES[name]
    indented = "\n".join(f"            {line}" for line in item.split("\n"))
    report = rehearsed(tmp_path, HEAD.format(item=indented, constant=constant) + loop)
    (finding,) = (f for f in report.findings if f.severity == "error")
    first = finding.fixes[0]
    assert first.checked
    assert [edit.text.strip() for edit in first.edits] == [
        function,
        ", collate_fn=collate",
    ]


def test_the_function_is_shown_below_its_name(tmp_path: Path) -> None:
    item, _, loop, function = CASES["the sequences alone"]
    text = HEAD.format(item=f"            {item}", constant="") + loop
    lines = str(rehearsed(tmp_path, text)).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("help: "))
    assert "`collate_fn=collate`, a function that pads them" in lines[at]
    assert [line.strip() for line in lines[at + 1 : at + 3]] == [
        row.strip() for row in function.split("\n")
    ]


def test_images_in_grey_are_not_padded_to_colours(tmp_path: Path) -> None:
    item = "            return torch.rand(3 if i % 2 else 1, 8, 8), i % 3"
    loop = "    net = nn.Conv2d(3, 4, 3)\n    for x, y in loader:\n        net(x)\n"
    report = rehearsed(tmp_path, HEAD.format(item=item, constant="") + loop)
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert not any("pad" in fix.message for fix in finding.fixes)


def test_two_loaders_of_one_data_set_are_one_error(tmp_path: Path) -> None:
    item, constant, loop, _ = CASES["a sequence and its label"]
    indented = "\n".join(f"            {line}" for line in item.split("\n"))
    more = "    second = DataLoader(Data(), batch_size=3)\n"
    text = HEAD.format(item=indented, constant=constant) + more + loop
    text += "    for tokens, label in second:\n        head(net(tokens).mean(1))\n"
    report = rehearsed(tmp_path, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    keywords = [edit.text for edit in finding.fixes[0].edits[1:]]
    assert keywords == [", collate_fn=collate"] * 2
