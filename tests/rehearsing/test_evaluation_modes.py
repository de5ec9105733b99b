"""Loops that evaluate in training mode, with gradients or without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TEXT = """\
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.randn(70, 6), torch.randint(3, (70,)))
    loader, test_loader = DataLoader(data, 16, shuffle=True), DataLoader(data, 32)
    criterion = nn.CrossEntropyLoss()


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout())
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            made = self.body(x)
            return {returned}


    def scores(model, inputs):
        return model(inputs){first}


    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        model.train()
        for inputs, labels in loader:
            optimizer.zero_grad()
            criterion(scores(model, inputs), labels).backward()
            optimizer.step()
        {mode}
        right, losses = 0, []
        for inputs, labels in test_loader:
            out = model(inputs){first}
            {use}
        {after}
"""

COUNTS = "right += (out.argmax(1) == labels).sum().item()"
LOSSES = "losses.append(criterion(out, labels).item())"
SUMS = "losses.append(criterion(out, labels))"


def told(
    folder: Path,
    use: str,
    mode: str = "pass",
    after: str = "pass",
    pair: bool = False,
) -> list[tuple[str, int]]:
    returned = "self.head(made), made" if pair else "self.head(made)"
    text = TEXT.format(
        use=use, mode=mode, after=after, returned=returned, first="[0]" * pair
    )
    findings = rehearsed(folder, text).findings
    return [(each.code, each.span.line) for each in findings if each.span]


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("mode", ["pass", "torch.set_grad_enabled(epoch > 3)"])
@pytest.mark.parametrize("use", [COUNTS, LOSSES])
def test_an_evaluation_in_training_mode_is_found(
    tmp_path: Path, use: str, mode: str, pair: bool
) -> None:
    after = "torch.set_grad_enabled(True)"
    found = told(tmp_path, use, mode, after, pair)
    assert found == [("evaluated-in-training-mode", 36)]


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("use", [COUNTS, LOSSES])
def test_an_evaluation_in_evaluation_mode_is_quiet(
    tmp_path: Path, use: str, pair: bool
) -> None:
    mode = "model.eval(); torch.set_grad_enabled(False)"
    assert told(tmp_path, use, mode, "torch.set_grad_enabled(True)", pair) == []


@pytest.mark.parametrize(
    ("use", "after"),
    [
        (  # trained on after the loop
            SUMS,
            "optimizer.zero_grad(); sum(losses).backward(); optimizer.step()",
        ),
        (  # statistics of batch norm, taken again: the outputs are not used
            "pass",
            "pass",
        ),
        (  # gradients are gathered over several batches
            "losses.append(criterion(out, labels))"
            "\n            if len(losses) == 3:"
            "\n                optimizer.zero_grad(); sum(losses).backward()"
            "\n                optimizer.step(); losses = []",
            "pass",
        ),
    ],
)
def test_a_loop_that_trains_later_is_no_evaluation(
    tmp_path: Path, use: str, after: str
) -> None:
    assert told(tmp_path, use, after=after) == []


PAST = """\
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.randn(70, 6), torch.randint(3, (70,)))
    loader = DataLoader(data, 16, shuffle=True)
    criterion = nn.CrossEntropyLoss()


    def build():
        return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))


    def fit(model, teach=None):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, labels in loader:
            optimizer.zero_grad()
            made = model(inputs)
            loss = criterion(made, labels)
            if teach is not None:
                loss = loss + (made - teach(inputs)).square().mean()
            loss.backward()
            optimizer.step()


    first, second = build().train(), build().train()
    fit(first)
    first.eval()
    {then}
"""

ONE_MORE = """\
with torch.no_grad():
        print(first(data[:][0]).shape)
    fit(second)
"""


@pytest.mark.parametrize(
    "then",
    [
        ONE_MORE,
        "fit(second, torch.no_grad()(first))",
        "fit(second, lambda x: first(x).detach())",
        "first.requires_grad_(False)\n    fit(second, first)",
    ],
    ids=["evaluated", "without-gradients", "detached", "frozen"],
)
def test_a_model_of_the_past_is_not_trained(tmp_path: Path, then: str) -> None:
    assert not rehearsed(tmp_path, PAST.format(then=then)).findings


def test_a_model_is_trained_after_its_evaluation(tmp_path: Path) -> None:
    found = rehearsed(tmp_path, PAST.format(then="fit(first)")).findings
    assert [each.code for each in found] == ["trained-in-eval-mode"]


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        ("nn.BatchNorm1d(8)", "its batch norm statistics include this data"),
        ("nn.Dropout()", "its dropout is active"),
        (
            "nn.BatchNorm1d(8), nn.Dropout()",
            "its dropout is active, and its batch norm statistics include this data",
        ),
    ],
)
def test_only_the_layers_of_the_model_are_named(
    tmp_path: Path, layer: str, words: str
) -> None:
    text = TEXT.replace("nn.BatchNorm1d(8), nn.Dropout()", layer).format(
        use=LOSSES, mode="pass", after="pass", returned="self.head(made)", first=""
    )
    (finding,) = (
        each
        for each in rehearsed(tmp_path, text).findings
        if each.code == "evaluated-in-training-mode"
    )
    assert finding.message == f"`Net` is evaluated in training mode: {words}"


IN_FUNCTIONS = """\
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.randn(70, 6), torch.randint(3, (70,)))
    loader, held = DataLoader(data, 16, shuffle=True), DataLoader(data, 32)
    criterion = nn.CrossEntropyLoss()


    def train(net):
        {mode}
        for inputs, labels in loader:
            optimizer.zero_grad()
            criterion(net(inputs), labels).backward()
            optimizer.step()


    def validate(model):
        right = 0
        with torch.no_grad():
            for inputs, labels in held:
                {use}
        return right


    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        train(net)
        print(validate(net))
    """
BOTH = "`model.eval()` before this, `net.train()` before the training"


@pytest.mark.parametrize(
    "use",
    [
        "right += (model(inputs).argmax(1) == labels).sum().item()",
        "out = model(inputs); right += (out.argmax(1) == labels).sum().item()",
    ],
)
@pytest.mark.parametrize(
    ("mode", "fixes"), [("pass", [BOTH]), ("net.train()", ["`model.eval()`"])]
)
def test_both_modes_are_set_where_neither_is(
    tmp_path: Path, use: str, mode: str, fixes: list[str]
) -> None:
    report = rehearsed(tmp_path, IN_FUNCTIONS.format(use=use, mode=mode))
    (finding,) = report.findings
    assert finding.code == "evaluated-in-training-mode"
    assert [fix.message for fix in finding.fixes] == fixes
    if fixes == [BOTH]:
        assert [edit.span.line for edit in finding.fixes[0].edits] == [19, 11]


PROBED = """\
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8))
            self.fc = nn.Linear(8, 3)

        def forward(self, x):
            return self.fc(self.body(x).relu())


    def fit(optimizer):
        for _ in range(4):
            optimizer.zero_grad()
            labels = torch.randint(3, (16,))
            nn.functional.cross_entropy(model(torch.randn(16, 6)), labels).backward()
            optimizer.step()


    model = Net().train()
    fit(torch.optim.SGD(model.parameters(), lr=0.1))
    {then}
    model.eval()
    fit(torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1))
"""
FREEZING = "model.body.requires_grad_(False)\n    "
PROBES = {
    "a new head": (FREEZING + "model.fc = nn.Linear(8, 3)", True),
    "the head itself": (FREEZING, True),
    "a head with dropout": (
        FREEZING + "model.fc = nn.Sequential(nn.Dropout(), nn.Linear(8, 3))",
        False,
    ),
    "a frozen layer beside the norm": ("model.body[0].requires_grad_(False)", False),
    "nothing frozen": ("pass", False),
}


@pytest.mark.parametrize("name", PROBES)
def test_a_head_on_frozen_features_of_evaluation_mode(
    name: str, tmp_path: Path
) -> None:
    then, is_quiet = PROBES[name]
    report = rehearsed(tmp_path, PROBED.format(then=then))
    codes = [] if is_quiet else ["trained-in-eval-mode"]
    assert [finding.code for finding in report.findings] == codes


BY_CLASS = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    net.train()
    optimizer.zero_grad()
    x, y = torch.randn(16, 6), torch.randint(3, (16,))
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()

class {name}:
    def __init__(self, net):
        self.net = net
    def choose(self, x):
        with torch.no_grad():
            scores = self.net(x)
        return scores.argmax(1)
    def run(self):
        hits = 0
        for _ in range(4):
            x, y = torch.randn(5, 6), torch.randint(3, (5,))
            {mode}choice = self.choose(x)
            hits += int({hit})
        return hits

print({name}(net).run())
"""
IN_CLASSES = {
    "an evaluator": ("Evaluator", "", "(choice == y).sum()", True),
    "a tester": ("NetTester", "", "(choice == y).float().sum().item()", True),
    "in evaluation mode": (
        "Evaluator", "self.net.eval(); ", "(choice == y).sum()", False,
    ),
    "a sampler of actions": ("Actor", "", "(choice == y).sum()", False),
    "no labels": ("Evaluator", "", "choice.sum()", False),
}  # fmt: skip


@pytest.mark.parametrize("case", IN_CLASSES)
def test_what_a_class_measures_is_an_evaluation(case: str, tmp_path: Path) -> None:
    name, mode, hit, is_wrong = IN_CLASSES[case]
    report = rehearsed(tmp_path, BY_CLASS.format(name=name, mode=mode, hit=hit))
    codes = [finding.code for finding in report.findings]
    assert codes == ["evaluated-in-training-mode"] * is_wrong
