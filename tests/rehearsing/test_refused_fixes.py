"""Fixes that would run and do something else are not shown; the meant ones are."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

LABELS = """\
    import torch
    from torch import nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 1))
    criterion = nn.CrossEntropyLoss({options})
    labels = torch.randint(0, 3, (4, 8, 8))
    labels[:, :2] = 225
    loss = criterion(model(torch.randn(4, 3, 8, 8)), labels)
    loss.backward()
    """


def get_only(folder: Path, text: str) -> Finding:
    """The only error of a script."""
    report = rehearsed(folder, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    return finding


def get_fixes(finding: Finding) -> list[str]:
    """The messages of the fixes that were checked."""
    return [fix.message for fix in finding.fixes if fix.checked]


@pytest.mark.parametrize("options", ["", "ignore_index=255"])
def test_a_label_far_beyond_the_classes_is_ignored(
    options: str, tmp_path: Path
) -> None:
    finding = get_only(tmp_path, LABELS.format(options=options))
    assert "ignore_index=225" in get_fixes(finding)[0]
    assert all("22" in message for message in get_fixes(finding))


def test_one_hot_labels_get_as_many_columns_in_all_equal_calls(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        net = nn.Linear(4, 4)
        a, b = torch.tensor([0, 3, 31, 5]), torch.tensor([2, 31, 1, 7])
        def compare(a, b):
            a = torch.zeros(4, 31).scatter_(1, a.view(4, 1), 1)
            b = torch.zeros(4, 31).scatter_(1, b.view(4, 1), 1)
            return a @ b.t()
        (net(torch.randn(4, 4)) * compare(a, b)).sum().backward()
        """
    finding = get_only(tmp_path, text)
    assert finding.code == "index-out-of-range"
    assert get_fixes(finding) == ["`torch.zeros(4, 32)` and 1 more"]


def test_a_reconstruction_of_another_size_is_not_turned(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        down = nn.Conv2d(1, 4, 3, stride=2, padding=1)
        up = nn.ConvTranspose2d(4, 1, 3, stride=2, padding=(0, 1))
        x = torch.randn(4, 1, 32, 33)
        nn.MSELoss()(up(down(x)), x).backward()
        """
    finding = get_only(tmp_path, text)
    assert finding.code == "target-shape"
    for message in get_fixes(finding):
        assert "transpose" not in message
        assert "unsqueeze" not in message


def test_classes_are_not_made_as_many_as_the_colours_of_a_target(
    tmp_path: Path,
) -> None:
    text = """\
        import torch
        from torch import nn
        CLASSES = 18
        net = nn.Conv2d(3, CLASSES, 1)
        scores = torch.softmax(net(torch.randn(2, 3, 8, 8)), 1)
        (scores * torch.rand(2, 4, 8, 8)).sum().backward()
        """
    finding = get_only(tmp_path, text)
    assert finding.code == "broadcast-mismatch"
    assert not [m for m in get_fixes(finding) if "CLASSES" in m or "Conv2d" in m]


def test_a_size_of_a_view_is_changed_before_the_layers_around_it(
    tmp_path: Path,
) -> None:
    text = """\
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, channels=16):
                super().__init__()
                self.channels = channels
                self.fc = nn.Linear(5, 32 * 4)
                self.conv = nn.Conv2d(32, 3, 1)
            def forward(self, x):
                shape = [x.shape[0], self.channels // 2, 2, 2]
                return self.conv(self.fc(x).view(shape))
        Net()(torch.randn(6, 5)).sum().backward()
        """
    finding = get_only(tmp_path, text)
    assert get_fixes(finding)[0] == (
        "`self.channels // 2 * 4` for `self.channels // 2`"
    )


def test_the_two_directions_of_a_state_are_added_up(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        encoder = nn.GRU(8, 16, bidirectional=True)
        decoder = nn.GRU(8, 16)
        def run(source, target):
            context = torch.zeros(1, 3, 16)
            outputs, hidden = encoder(source)
            outputs, last = decoder(target, hidden)
            return outputs.sum() + context.sum()
        run(torch.randn(5, 3, 8), torch.randn(4, 3, 8)).backward()
        """
    finding = get_only(tmp_path, text)
    assert finding.code == "hidden-state-shape"
    assert get_fixes(finding) == ["`hidden = hidden.unflatten(0, (-1, 2)).sum(1)`"]


def test_a_squeeze_as_a_function_names_its_dim(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        conv, norm = nn.Conv2d(1, 6, (3, 4), padding=(1, 0)), nn.BatchNorm1d(6)
        def run(x):
            return norm(torch.squeeze(conv(x)))
        for size in (4, 4, 1):
            run(torch.randn(size, 1, 9, 4)).sum().backward()
        """
    finding = get_only(tmp_path, text)
    assert get_fixes(finding)[0] == "`torch.squeeze(conv(x), 3)`"


def test_the_attributes_of_a_data_set_are_no_parameters(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, Dataset
        class Words(Dataset):
            def __init__(self):
                self.words = torch.randn(8, 4)
                self.images = self.words @ torch.randn(4, 4)
            def __len__(self):
                return 8
            def __getitem__(self, at):
                return self.words[at], self.images[at]
        net = nn.Linear(4, 4)
        for words, images in DataLoader(Words(), batch_size=4):
            (net(words) - images).pow(2).mean().backward()
            net.zero_grad()
        """
    codes = [finding.code for finding in rehearsed(tmp_path, text).findings]
    assert "not-a-parameter" not in codes


def test_a_parameter_of_a_module_without_forward_is_one(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        class Points(nn.Module):
            def __init__(self):
                super().__init__()
                self.places = nn.Parameter(torch.randn(8, 3))
            def render(self, pose):
                return self.places @ pose
        points = Points().to("cuda")
        optimizer = torch.optim.Adam(points.parameters())
        for step in range(2):
            optimizer.zero_grad()
            points.render(torch.eye(3).to("cuda")).pow(2).mean().backward()
            optimizer.step()
        """
    assert rehearsed(tmp_path, text, device="cuda").findings == ()
