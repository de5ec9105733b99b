"""`(N, 1)` with `(N,)`."""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.hazards import found, program, warned

TRUE = {
    "squared error by hand": (
        "self.fc = nn.Linear(5, 1)",
        """x, y:
        pred = self.fc(x)
        return (pred - y).pow(2).mean()  # here""",
        "torch.randn(9, 5), torch.randn(9)",
    ),
    "mse_loss": (
        "self.fc = nn.Linear(5, 1)",
        """x, y:
        return F.mse_loss(self.fc(x), y)  # here""",
        "torch.randn(9, 5), torch.randn(9)",
    ),
    "a loss layer and a target of one column": (
        "self.fc = nn.Linear(5, 1)\nself.loss = nn.SmoothL1Loss()",
        """x, y:
        pred = self.fc(x).squeeze(1)
        return self.loss(pred, y)  # here""",
        "torch.randn(9, 5), torch.randn(9, 1)",
    ),
    "accuracy": (
        "self.fc = nn.Linear(5, 3)",
        """x, y:
        pred = self.fc(x).argmax(dim=1, keepdim=True)
        return (pred == y).float().mean()  # here""",
        "torch.randn(9, 5), torch.randint(0, 3, (9,))",
    ),
    "accuracy of a threshold": (
        "self.fc = nn.Linear(5, 1)",
        """x, y:
        guess = torch.sigmoid(self.fc(x)) > 0.5
        return guess.eq(y).sum()  # here""",
        "torch.randn(9, 5), torch.ones(9, dtype=torch.bool)",
    ),
    "advantages": (
        "self.value = nn.Linear(5, 1)",
        """x, returns:
        advantage = returns - self.value(x)  # here
        return advantage.detach().mean()""",
        "torch.randn(9, 5), torch.randn(9)",
    ),
    "q values of the actions taken": (
        "self.q = nn.Linear(5, 3)",
        """x, action, target:
        taken = self.q(x).gather(1, action.unsqueeze(1))
        return F.smooth_l1_loss(taken, target)  # here""",
        "torch.randn(9, 5), torch.randint(0, 3, (9,)), torch.randn(9)",
    ),
    "weights of one column": (
        "self.fc = nn.Linear(5, 3)",
        """x, y, weight:
        loss = F.cross_entropy(self.fc(x), y, reduction="none")
        return (loss * weight).mean()  # here""",
        "torch.randn(9, 5), torch.randint(0, 3, (9,)), torch.rand(9, 1)",
    ),
    "masks with one channel": (
        "self.conv = nn.Conv2d(3, 1, 3, padding=1)",
        """x, y:
        mask = torch.sigmoid(self.conv(x))
        overlap = (mask * y).sum()  # here
        return 1 - 2 * overlap / (mask.sum() + y.sum())""",
        "torch.randn(4, 3, 12, 10), torch.rand(4, 12, 10)",
    ),
}

LEGAL = {
    "pairwise distances": (
        "self.fc = nn.Linear(5, 2)",
        """x:
        z = self.fc(x)
        near = (z[:, None] - z).pow(2).sum(-1)
        first = z[:, 0]
        return near, first[:, None] - first, first.unsqueeze(1) > first""",
        "torch.randn(9, 5)",
    ),
    "distances from squared norms": (
        "self.fc = nn.Linear(5, 2)",
        """x:
        z = self.fc(x)
        own = z.pow(2).sum(1, keepdim=True)
        return own + z.pow(2).sum(1) - 2 * z @ z.t()""",
        "torch.randn(9, 5)",
    ),
    "equal labels of a contrastive loss": (
        "self.fc = nn.Linear(5, 2)",
        """x, y:
        y = y.contiguous().view(-1, 1)
        same = torch.eq(y, y.t()).float()
        logits = self.fc(x) @ self.fc(x).t()
        return (same * logits).sum(), y == y.flatten()""",
        "torch.randn(9, 5), torch.randint(0, 3, (9,))",
    ),
    "batch-hard triplets": (
        "self.fc = nn.Linear(5, 2)",
        """x, y:
        d = torch.cdist(self.fc(x), self.fc(x))
        same = y.unsqueeze(0) == y.unsqueeze(1)
        far = (d * same).max(dim=1, keepdim=True)[0]
        near = (d + d.max() * same).min(dim=1, keepdim=True)[0]
        return F.relu(far - near + 0.3).mean()""",
        "torch.randn(9, 5), torch.randint(0, 3, (9,))",
    ),
    "shapes that agree": (
        "self.fc = nn.Linear(5, 1)",
        """x, y:
        one = F.mse_loss(self.fc(x).squeeze(-1), y)
        two = (self.fc(x) - y.unsqueeze(1)).abs().mean()
        return one + two + F.l1_loss(self.fc(x)[:, 0], y)""",
        "torch.randn(9, 5), torch.randn(9)",
    ),
    "ranking of all pairs": (
        "self.fc = nn.Linear(5, 1)",
        """x, y:
        s = self.fc(x).squeeze(-1)
        wins = s[:, None] - s[None, :]
        order = (y[:, None] > y[None, :]).float()
        return F.binary_cross_entropy_with_logits(wins, order)""",
        "torch.randn(9, 5), torch.randn(9)",
    ),
    "padding masks and causal grids": (
        "self.emb = nn.Embedding(20, 8)",
        """ids, lengths:
        steps = torch.arange(ids.size(1), device=ids.device)
        mask = steps[None, :] < lengths[:, None]
        causal = steps[:, None] >= steps[None, :]
        x = self.emb(ids) * mask.unsqueeze(-1)
        return x.sum(1) / lengths.unsqueeze(1), causal & mask[:, None, :]""",
        "torch.randint(0, 20, (4, 7)), torch.tensor([7, 3, 5, 2])",
    ),
    "top five accuracy": (
        "self.fc = nn.Linear(5, 8)",
        """x, y:
        _, top = self.fc(x).topk(5, 1, True, True)
        right = top.t().eq(y.view(1, -1).expand_as(top.t()))
        return right[:1].reshape(-1).float().sum(0)""",
        "torch.randn(9, 5), torch.randint(0, 8, (9,))",
    ),
    "quantile regression": (
        "self.fc = nn.Linear(5, 3)\n"
        "self.register_buffer('tau', torch.tensor([0.1, 0.5, 0.9]))",
        """x, y:
        error = y.unsqueeze(1) - self.fc(x)
        return torch.maximum(self.tau * error, (self.tau - 1) * error).mean()""",
        "torch.randn(9, 5), torch.randn(9)",
    ),
    "kernel of a gaussian process": (
        "self.scale = nn.Parameter(torch.ones(1))",
        """x:
        return torch.exp(-(x - x.T).pow(2) / self.scale)""",
        "torch.randn(9, 1)",
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_true(tmp_path: Path, name: str) -> None:
    said = warned(tmp_path, program(*TRUE[name]))
    assert [each.endswith("# here") for each in said] == [True]
    assert said[0].startswith("outer-broadcast: ")


@pytest.mark.parametrize("name", LEGAL)
def test_legal(tmp_path: Path, name: str) -> None:
    assert warned(tmp_path, program(*LEGAL[name])) == []


def test_the_message_holds_the_evidence(tmp_path: Path) -> None:
    (one,) = found(tmp_path, program(*TRUE["squared error by hand"]))
    assert one.message == (
        "`-` of `pred` (9, 1) and `y` (9,) makes (9, 9): each of the 9 samples is "
        "combined with every other"
    )
    said = [each.message for each in one.related]
    assert said[0].startswith("9 is dim 0 of the input on both sides")
    assert said[1] == "`pred` (9, 1) was made here"
