"""Maps of features where one vector for each image was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

BACKBONE = """\
    import torch
    from torch import nn
    class Backbone(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.body = nn.Conv2d(3, 8, 3, 2), nn.Conv2d(8, 24, 3, 2)
            self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(24, 10)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(*list(Backbone().children())[:-2])
            self.head = nn.Linear(24, 5)
        def forward(self, x):
            x = self.features(x)
            {flatten}
            return self.head(x)
    scores = Net()(torch.randn(4, 3, 32, 32))
    nn.functional.cross_entropy(scores, torch.tensor([0, 1, 2, 3])).backward()
    """
SEQUENTIAL = """\
    import torch
    from torch import nn
    net = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Linear(6, 5))
    loss = nn.functional.cross_entropy(net(torch.randn(4, 3, 9, 9)), torch.arange(4))
    loss.backward()
    """
SIMILAR = """\
    import torch
    import torch.nn.functional as F
    from torch import nn
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU())
            self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 4)
        def features(self, x):
            return self.body(x)
        def forward(self, x):
            return self.fc(self.pool(self.features(x)).flatten(1))
    model = Encoder()
    shelf = F.normalize(model.features(torch.randn(9, 3, 16, 16)), dim=1)
    query = F.normalize(model.features(torch.randn(5, 3, 16, 16)), dim=1)
    print({product})
    """
CASES = {
    "a backbone cut in front of its pooling": (
        BACKBONE.format(flatten="x = torch.flatten(x, 1)"),
        "`list(Backbone().children())[:-1]`",
    ),
    "a backbone cut there whose map nothing flattens": (
        BACKBONE.format(flatten="x = x.relu()"),
        "`torch.nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)`",
    ),
    "a list of layers": (
        SEQUENTIAL,
        "`nn.AdaptiveAvgPool2d(1), nn.Flatten()` before `nn.Linear(6, 5)`",
    ),
    "maps that are multiplied": (
        SIMILAR.format(product="torch.mm(query, shelf.T).argmax(1)"),
        "`F.adaptive_avg_pool2d(model.features(torch.randn(5, 3, 16, 16)), 1)"
        ".flatten(1)` and 1 more",
    ),
    "maps that are compared": (
        SIMILAR.format(product="(query @ shelf.t()).topk(2)"),
        "`F.adaptive_avg_pool2d(model.features(torch.randn(9, 3, 16, 16)), 1)"
        ".flatten(1)`",
    ),
}


def get_fixes(folder: Path, text: str) -> list[str]:
    """The checked fixes of the first error."""
    report = rehearsed(folder, text)
    finding = next(f for f in report.findings if f.severity == "error")
    return [fix.message for fix in finding.fixes if fix.checked]


@pytest.mark.parametrize(("text", "first"), CASES.values(), ids=CASES.keys())
def test_a_map_is_pooled_where_a_vector_is_meant(
    text: str, first: str, tmp_path: Path
) -> None:
    assert get_fixes(tmp_path, text) == [first]


def test_a_layer_for_each_pixel_stays_one(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        conv, head = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 5)
        scores = head(conv(torch.randn(4, 3, 6, 7)))
        labels = torch.randint(0, 5, (4, 6, 7))
        loss = nn.functional.cross_entropy(scores.reshape(-1, 5), labels.reshape(-1))
        loss.backward()
        """
    assert "permute(0, 2, 3, 1)" in get_fixes(tmp_path, text)[0]
