"""The batch: lost at one sample, mixed by an extreme or an einsum; and the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.hazards import found, program, warned

CONV = "self.conv = nn.Conv2d(3, 8, 3)\nself.fc = nn.Linear(8, 5)"

TRUE = {
    "lost-batch: one image": (
        CONV,
        """x:
        x = F.adaptive_avg_pool2d(self.conv(x), 1).squeeze()  # here
        return self.fc(x)""",
        "torch.randn(1, 3, 9, 9)",
    ),
    "lost-batch: one prompt": (
        "self.fc = nn.Linear(6, 1)",
        """x:
        scores = self.fc(x.view(-1, 6)).view(x.size(0), x.size(1), 1)
        return torch.squeeze(scores).softmax(-1)  # here""",
        "torch.randn(1, 4, 6)",
    ),
    "batch-dependence: the largest of all": (
        CONV,
        """x:
        heat = self.conv(x).relu()
        return heat / heat.max()  # here""",
        "torch.rand(4, 3, 9, 9)",
    ),
    "batch-dependence: between the extremes of all": (
        CONV,
        """x:
        m = self.conv(x).mean(1)
        low, high = m.min(), m.max()  # here
        return (m - low) / (high - low + 1e-6)""",
        "torch.rand(4, 3, 9, 9)",
    ),
    "batch-dependence: magnitudes": (
        "self.conv = nn.Conv1d(2, 4, 5)",
        """x:
        x = x / x.abs().max()  # here
        return self.conv(x)""",
        "torch.rand(4, 2, 30)",
    ),
    "einsum-reduction: scores of pairs": (
        "self.fc = nn.Linear(6, 4)",
        """a, b:
        return torch.einsum("bd,bd", self.fc(a), self.fc(b))  # here""",
        "torch.randn(5, 6), torch.randn(5, 6)",
    ),
    "einsum-reduction: products of matrices": (
        "self.fc = nn.Linear(6, 4)",
        """a, b:
        return torch.einsum("bnk,bkm", a, b)  # here""",
        "torch.randn(5, 7, 6), torch.randn(5, 6, 3)",
    ),
    "einsum-reduction: another order": (
        "self.w = nn.Parameter(torch.randn(6, 4))",
        """x:
        return torch.einsum("tbk,km", x, self.w)  # here""",
        "torch.randn(7, 5, 6)",
    ),
    "batch-axis: an arrow that drops the samples": (
        "self.rnn = nn.GRU(6, 4, batch_first=True)\n"
        "self.w = nn.Parameter(torch.randn(3, 4, 4))",
        """a, b:
        a, b = self.rnn(a)[0][:, -1], self.rnn(b)[0][:, -1]
        return torch.einsum("bi,oij,bj->o", a, self.w, b)  # here""",
        "torch.randn(5, 7, 6), torch.randn(5, 9, 6)",
    ),
    "cpu-tensor: a mask": (
        "self.fc = nn.Linear(6, 6)",
        """x:
        scores = self.fc(x) @ x.transpose(1, 2)
        mask = torch.tril(torch.ones(x.size(1), x.size(1)))
        scores = scores.masked_fill(mask == 0, float("-inf"))  # here
        return scores.softmax(-1) @ x""",
        "torch.randn(5, 7, 6)",
    ),
    "cpu-tensor: a state": (
        "self.rnn = nn.GRU(6, 4, batch_first=True)",
        """x:
        h = torch.zeros(1, x.size(0), 4)
        return self.rnn(x, h)[0]  # here""",
        "torch.randn(5, 7, 6)",
    ),
    "cpu-tensor: a plain attribute": (
        "self.pe = torch.zeros(50, 6)\nself.fc = nn.Linear(6, 6)",
        """x:
        x = x + self.pe[: x.size(1)]  # here
        return self.fc(x)""",
        "torch.randn(5, 7, 6)",
    ),
    "cpu-tensor: positions": (
        "self.pos = nn.Embedding(50, 6)",
        """x:
        steps = torch.arange(x.size(1))
        return x + self.pos(steps)  # here""",
        "torch.randn(5, 7, 6)",
    ),
}

LEGAL = {
    "features against features, and all of it": (
        "self.rnn = nn.GRU(6, 4, batch_first=True)\n"
        "self.w = nn.Parameter(torch.randn(4, 4))",
        """a:
        a = self.rnn(a)[0][:, -1]
        both = torch.einsum("bi,bj->ij", a, a) / len(a)
        return both, torch.einsum("bi,ij,bj->", a, self.w, a)""",
        "torch.randn(5, 7, 6)",
    ),
    "dims that are named": (
        CONV,
        """x:
        x = F.adaptive_avg_pool2d(self.conv(x), 1).squeeze(-1).squeeze(-1)
        return self.fc(x)""",
        "torch.randn(1, 3, 9, 9)",
    ),
    "squeeze where nothing is lost": (
        "self.fc = nn.Linear(6, 1)",
        """x:
        y = self.fc(x).squeeze()
        return y.mean().squeeze() + y.sum().squeeze()""",
        "torch.randn(5, 6)",
    ),
    "scales of one sample": (
        CONV,
        """x:
        h = self.conv(x)
        a = h / h.amax(dim=(1, 2, 3), keepdim=True)
        b = h / h.flatten(1).max(1)[0].view(-1, 1, 1, 1)
        return a + b""",
        "torch.rand(4, 3, 9, 9)",
    ),
    "extremes that are taken off, and that quantise": (
        CONV,
        """x:
        h = self.conv(x)
        e = (h - h.max()).exp()
        scale = h.abs().max() / 127
        q = (h / scale).round().clamp(-128, 127) * scale
        return e / e.sum(dim=1, keepdim=True), q""",
        "torch.rand(4, 3, 9, 9)",
    ),
    "statistics of the batch": (
        CONV,
        """x, reward:
        h = self.conv(x)
        mean = h.mean(dim=(0, 2, 3), keepdim=True)
        std = h.var(dim=(0, 2, 3), keepdim=True, unbiased=False).sqrt()
        adv = (reward - reward.mean()) / (reward.std() + 1e-8)
        return (h - mean) / std, adv, h.abs().mean() / h.abs().max()""",
        "torch.rand(4, 3, 9, 9), torch.rand(4)",
    ),
    "deviation of a batch as a channel": (
        CONV,
        """x:
        h = self.conv(x)
        spread = h.std(0).mean().view(1, 1, 1, 1)
        return torch.cat([h, spread.expand(h.size(0), 1, *h.shape[2:])], dim=1)""",
        "torch.rand(4, 3, 9, 9)",
    ),
    "equations with an arrow, and plain products": (
        "self.w = nn.Parameter(torch.randn(6, 4))",
        """a, b:
        one = torch.einsum("bd,bd->b", a, b)
        two = torch.einsum("bi,bj->ij", a, b) / len(a)
        three = torch.einsum("bk,km", a, self.w)
        four = torch.einsum("i,i", one, one)
        return one, two, three, four, torch.einsum("ij->ji", a)""",
        "torch.randn(5, 6), torch.randn(5, 6)",
    ),
    "made where the model is": (
        "self.fc = nn.Linear(6, 6)\n"
        "self.register_buffer('table', torch.arange(50.0)[:, None])",
        """x:
        mask = torch.ones(7, 7, device=x.device).tril()
        zero = torch.zeros(7, 6).to(x.device)
        like = torch.zeros_like(x) + x.new_ones(6) + zero
        scores = (x @ x.transpose(1, 2)).masked_fill(mask == 0, -1e9)
        steps = torch.arange(7).type_as(x)
        return like, scores, x + self.table[:7], x + steps[:, None]""",
        "torch.randn(5, 7, 6)",
    ),
    "plain attributes that are moved": (
        "self.pe = torch.zeros(50, 6)\nself.seen = None\nself.fc = nn.Linear(6, 6)",
        """x:
        self.seen = self.fc(x)
        return self.seen + self.pe[:7].to(x.device) + self.pe.to(x)[:7]""",
        "torch.randn(5, 7, 6)",
    ),
    "without dims, and as an index": (
        "self.fc = nn.Linear(6, 6)",
        """x:
        y = x * torch.tensor(2.0) + torch.ones(())
        first = x[torch.zeros(5, dtype=torch.long), torch.arange(5)]
        return y, first, x[:, torch.tensor([0, 2])]""",
        "torch.randn(5, 7, 6)",
    ),
    "a device that the text gives": (
        "self.fc = nn.Linear(6, 6)\nself.device = torch.device('cpu')",
        """x:
        h = torch.zeros(5, 6, device=self.device)
        return self.fc(x) + h""",
        "torch.randn(5, 6)",
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_true(tmp_path: Path, name: str) -> None:
    said = warned(tmp_path, program(*TRUE[name]))
    assert [each.endswith("# here") for each in said] == [True]
    assert said[0].startswith(f"{name.partition(':')[0]}: ")


@pytest.mark.parametrize("name", LEGAL)
def test_legal(tmp_path: Path, name: str) -> None:
    assert warned(tmp_path, program(*LEGAL[name])) == []


def test_a_batch_that_is_lost_with_one_sample_is_told_with_its_size(
    tmp_path: Path,
) -> None:
    layers, forward, _ = TRUE["lost-batch: one image"]
    (one,) = found(tmp_path, program(layers, forward, "torch.randn(4, 3, 9, 9)"))
    assert (one.code, one.severity, one.sizes) == ("lost-batch", "warning", "B=1")
