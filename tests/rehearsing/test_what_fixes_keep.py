"""What a checked fix keeps: the dims of what ran, names for sizes, loaded weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long


def get_fixes(folder: Path, text: str, code: str) -> list[str]:
    """The checked fixes of the first error with a code."""
    report = rehearsed(folder, text)
    finding = next(f for f in report.findings if f.code == code)
    return [fix.message for fix in finding.fixes if fix.checked]


ONE_HOT = """\
    import torch
    import torch.nn.functional as F
    from torch import nn
    images, labels = torch.randn(6, 3, 24, 20), torch.randint(0, 4, (6, 3, 24, 20))
    critic = nn.Conv2d(7, 1, 3)
    hot = F.one_hot(labels, 4)
    hot = hot.permute(0, 3, 1, 2).float()
    critic(torch.cat([images, hot], 1)).mean().backward()
    """
STEPS = """\
    import torch
    import torch.nn.functional as F
    from torch import nn
    sound, notes = torch.randn(6, 2, 40), torch.randint(0, 5, (6, 2, 40))
    net = nn.Conv1d(7, 1, 3)
    hot = F.one_hot(notes, 5)
    hot = hot.permute(0, 2, 1).float()
    net(torch.cat([sound, hot], 1)).mean().backward()
    """


@pytest.mark.parametrize("text", [ONE_HOT, STEPS], ids=["images", "sound"])
def test_a_place_for_a_dim_that_nothing_behind_it_takes_is_no_fix(
    text: str, tmp_path: Path
) -> None:
    assert get_fixes(tmp_path, text, "permuted-dims") == []


CHECKPOINT = """\
    import torch
    from torch import nn
    SETTINGS = {{"width": 16, "classes": {classes}}}
    class Net(nn.Module):
        def __init__(self, width=16, classes=4):
            super().__init__()
            self.body = nn.Linear(8, width)
            self.head = nn.Linear(width, classes)
        def forward(self, x):
            return self.head(self.body(x).relu())
    torch.save(Net(16, 4).state_dict(), "net.pt")
    model = Net(SETTINGS["width"], classes=SETTINGS["classes"])
    model.load_state_dict(torch.load("net.pt"))
    {behind}
    """
EVALUATED = "print(model.eval()(torch.randn(5, 8)).argmax(1))"
TRAINED = """optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        optimizer.zero_grad()
        scores = model(torch.randn(5, 8))
        loss = nn.functional.cross_entropy(scores, torch.ones(5).long())
        loss.backward()
        optimizer.step()
"""


def test_a_head_is_not_left_as_it_was_drawn(tmp_path: Path) -> None:
    text = CHECKPOINT.format(classes=9, behind=EVALUATED)
    assert get_fixes(tmp_path, text, "state-dict-mismatch") == ["`4` for `9`"]


def test_a_head_that_is_trained_may_be_drawn(tmp_path: Path) -> None:
    text = CHECKPOINT.format(classes=9, behind=TRAINED)
    assert "strict=False" in get_fixes(tmp_path, text, "state-dict-mismatch")[0]


def test_keys_that_lack_are_not_ignored_where_nothing_is_trained(
    tmp_path: Path,
) -> None:
    text = CHECKPOINT.format(classes=4, behind=EVALUATED)
    text = text.replace("Net(16, 4).state_dict()", "Net(16, 4).body.state_dict()")
    assert get_fixes(tmp_path, text, "state-dict-mismatch") == []


DIRECTIONS = """\
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self, layers=3, width=12, both=True):
            super().__init__()
            self.layers, self.width, self.both = layers, width, both
            self.fc = nn.Linear(width, 4)
        def forward(self, x):
            batch = x.shape[0]
            {first}h = torch.zeros(self.layers, batch, self.width)
            {last}h = h.view(self.layers, {factor}, batch, self.width)
            return self.fc(h[-1, 0] + x)
    Net()(torch.randn(8, 12)).sum().backward()
    """
DIRECTIONS_CASES = {
    "a name that is assigned later": (
        DIRECTIONS.format(first="", last="n = 1 + self.both\n            ", factor="n"),
        "`torch.zeros(self.layers * (1 + self.both), batch, self.width)`",
    ),
    "a name that is assigned before": (
        DIRECTIONS.format(
            first="n = 2 if self.both else 1\n            ", last="", factor="n"
        ),
        "`torch.zeros(self.layers * n, batch, self.width)`",
    ),
    "heads of a query": (
        """\
    import torch
    from torch import nn
    heads, width = 4, 16
    def lay(x):
        rows = x.shape[0]
        table = x.new_ones(rows, width)
        table = table.view(rows, heads, width)
        return table[:, 0] * x
    lay(nn.Linear(8, 16)(torch.randn(6, 8))).sum().backward()
    """,
        "`x.new_ones(rows * heads, width)`",
    ),
}


@pytest.mark.parametrize(
    ("text", "first"), DIRECTIONS_CASES.values(), ids=DIRECTIONS_CASES.keys()
)
def test_a_factor_of_a_view_is_written_by_its_name(
    text: str, first: str, tmp_path: Path
) -> None:
    assert get_fixes(tmp_path, text, "element-count-mismatch") == [first]


KEPT = {
    "the means of a picture": (
        """\
    import torch
    from torch import nn
    def centre(x):
        means = x.mean(1).mean(2)
        return x - means.expand_as(x)
    x = torch.stack([centre(torch.rand(1, 28, 28)) for _ in range(4)])
    nn.Conv2d(1, 2, 3)(x).sum().backward()
    """,
        "`x.mean(1, keepdim=True).mean(2, keepdim=True)`",
    ),
    "the norm of a filter": (
        """\
    import torch
    from torch import nn
    w = nn.Parameter(torch.randn(8, 3, 5))
    scaled = w / torch.sum(torch.sum(w ** 2, 1), 2).sqrt()
    scaled.sum().backward()
    """,
        "`torch.sum(torch.sum(w ** 2, 1, keepdim=True), 2, keepdim=True)`",
    ),
}


@pytest.mark.parametrize(("text", "first"), KEPT.values(), ids=KEPT.keys())
def test_statistics_that_meet_their_tensor_keep_its_dims(
    text: str, first: str, tmp_path: Path
) -> None:
    assert get_fixes(tmp_path, text, "dim-out-of-range") == [first]


def test_what_ran_well_keeps_its_sizes(tmp_path: Path) -> None:
    text = """\
    import torch
    from torch import nn
    data = torch.randn(12, 6)
    print(nn.Linear(6, 4)(data).mean(0))
    weights = torch.ones(9, 6)
    print((data * weights).sum())
    """
    fixes = get_fixes(tmp_path, text, "broadcast-mismatch")
    assert not [message for message in fixes if "randn(9" in message]


def test_a_triangle_has_as_many_rows_as_columns(tmp_path: Path) -> None:
    text = """\
    import torch
    def attend(v, mask):
        return v.masked_fill(~mask[:, None, :, None], 0.0).sum(2)
    for step in range(2):
        tokens = torch.randn(6, 4, 9, 5)
        n = tokens.size(2)
        causal = torch.tril(torch.ones(n, n)).bool()
        print(attend(tokens, causal).shape)
    """
    fixes = get_fixes(tmp_path, text, "broadcast-mismatch")
    assert not [message for message in fixes if "torch.ones(" in message]


def test_a_view_of_as_many_dims_is_not_left_out(tmp_path: Path) -> None:
    text = """\
    import torch
    import torch.nn.functional as F
    scores = torch.randn(2, 4, 50, 20)
    b, h, n, _ = scores.shape
    shifted = F.pad(scores, (1, 0)).reshape(b, h, n + 1, -1)[:, :, 1:]
    print(shifted.softmax(-1).sum())
    """
    fixes = get_fixes(tmp_path, text, "does-not-divide")
    assert not [message for message in fixes if "without `.reshape" in message]


def test_what_a_layer_makes_of_its_state_may_change(tmp_path: Path) -> None:
    text = """\
    import torch
    from torch import nn
    rnn, series = nn.RNN(1, 1), torch.arange(9.0).reshape(9, 1)
    state = torch.zeros(1, 9)
    outputs, state = rnn(series, state)
    print(outputs.sum())
    """
    fixes = get_fixes(tmp_path, text, "hidden-state-shape")
    assert fixes[0] == "`torch.zeros(1, 1)`"


def test_no_line_of_a_library_or_behind_the_error_is_changed(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "grays.py"
    library.parent.mkdir()
    library.write_text(
        "import torch\n\n\ndef normalize(image, mean):\n"
        "    mean = torch.as_tensor(mean).view(-1, 1, 1)\n    return image.sub_(mean)\n"
    )
    text = """\
    import sys
    from pathlib import Path
    sys.path.insert(0, str(Path(__file__).parent / "site-packages"))
    import torch
    from grays import normalize
    from torch.utils.data import DataLoader, Dataset
    class Scans(Dataset):
        def __len__(self):
            return 8
        def __getitem__(self, i):
            return normalize(torch.rand(1, 16, 12), [0.5, 0.4, 0.3])
    for images in DataLoader(Scans(), batch_size=4):
        flat = images.view(images.size(0), -1)
        print(flat.mean())
    """
    report = rehearsed(tmp_path, text)
    finding = next(f for f in report.findings if f.code == "in-place-too-small")
    edits = [edit for fix in finding.fixes for edit in fix.edits]
    assert edits
    assert {edit.span.file.rpartition("/")[2] for edit in edits} == {"train.py"}
    assert not [edit for edit in edits if edit.span.line > 12]


EQUAL = """\
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    net, hits = nn.Linear(6, 3), 0
    data = TensorDataset(torch.rand(32, 8, 6), torch.randint(3, (32,)))
    for x, y in DataLoader(data, batch_size=16):
        chosen = net(x).transpose(0, 1)[:, -1].argmax(1)
        hits += (chosen == y).sum().item()
    """


def test_answers_are_compared_with_all_targets_one_by_one(tmp_path: Path) -> None:
    fixes = get_fixes(tmp_path, EQUAL, "broadcast-mismatch")
    assert fixes == ["`net(x)` without `.transpose(0, 1)`"]
