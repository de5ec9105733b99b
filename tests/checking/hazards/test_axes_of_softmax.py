"""Softmax along queries, along the batch, or along any axis that is not summed."""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.hazards import program, warned
from tests.rehearsing.rehearsed import rehearsed

ATTENTION = """\
self.q = nn.Linear(6, 6)
self.k = nn.Linear(6, 6)
self.v = nn.Linear(6, 6)"""

TRUE = {
    "wrong-axis: over the queries": (
        ATTENTION,
        """x:
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        weights = F.softmax(scores / 6**0.5, dim=1)  # here
        return weights @ self.v(x)""",
        "torch.randn(3, 7, 6)",
    ),
    "wrong-axis: over the one score of each step": (
        "self.score = nn.Sequential(nn.Linear(6, 1), nn.Softmax(dim=-1))",
        """x:
        weights = self.score(x)  # here
        return (weights * x).sum(1)""",
        "torch.randn(3, 7, 6)",
    ),
    "wrong-axis: over the queries, by einsum and with a dropout": (
        ATTENTION,
        """x, memory:
        scores = torch.einsum("bqd,bkd->bqk", self.q(x), self.k(memory))
        weights = F.dropout(scores.softmax(-2), 0.1, self.training)  # here
        return torch.einsum("bqk,bkd->bqd", weights, self.v(memory))""",
        "torch.randn(3, 7, 6), torch.randn(3, 9, 6)",
    ),
    "wrong-axis: over the queries, then turned": (
        ATTENTION,
        """x:
        scores = torch.bmm(self.k(x), self.q(x).transpose(1, 2))
        weights = torch.softmax(scores, -1)  # here
        return torch.bmm(weights.transpose(1, 2), self.v(x))""",
        "torch.randn(3, 7, 6)",
    ),
    "wrong-axis: over the heads": (
        "self.qkv = nn.Linear(6, 18)",
        """x:
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, 2, 3).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1)).softmax(dim=1)  # here
        return (weights @ v).transpose(1, 2).reshape(B, T, C)""",
        "torch.randn(3, 7, 6)",
    ),
    "wrong-axis: compared along the frames, by default": (
        "self.a, self.b = nn.Linear(6, 8), nn.Linear(5, 8)",
        """x, y:
        return F.cosine_similarity(self.a(x), self.b(y))  # here""",
        "torch.randn(3, 7, 6), torch.randn(3, 7, 5)",
    ),
    "wrong-axis: normalised along the tokens, by default": (
        "self.fc = nn.Linear(6, 8)",
        """x:
        x = F.normalize(self.fc(x))  # here
        return x @ x.mT""",
        "torch.randn(3, 7, 6)",
    ),
    "batch-axis: without a dim": (
        "self.fc = nn.Linear(6, 1)",
        """x:
        weights = F.softmax(self.fc(torch.tanh(x)))  # here
        return (weights * x).sum(1)""",
        "torch.randn(3, 7, 6)",
    ),
    "batch-axis: attention of a time-major decoder": (
        "self.fc = nn.Linear(6, 1)\nself.rnn = nn.GRU(6, 6)",
        """x:
        out, h = self.rnn(x)
        weights = self.fc(torch.tanh(out + h)).softmax(dim=1)  # here
        return (weights * out).sum(dim=0)""",
        "torch.randn(7, 3, 6)",
    ),
    "batch-axis: actions": (
        "self.fc = nn.Linear(6, 4)",
        """x:
        return F.softmax(self.fc(x), dim=0)  # here""",
        "torch.randn(9, 6)",
    ),
    "batch-axis: a layer": (
        "self.net = nn.Sequential(nn.Linear(6, 4), nn.LogSoftmax(dim=0))",
        """x, y:
        return F.nll_loss(self.net(x), y)  # here""",
        "torch.randn(9, 6), torch.randint(0, 4, (9,))",
    ),
    "batch-axis: embeddings": (
        "self.net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1))",
        """x:
        z = self.net(x).flatten(1)
        return F.normalize(z, dim=0)  # here""",
        "torch.randn(5, 3, 9, 9)",
    ),
    "batch-axis: a running sum": (
        "self.conv = nn.Conv1d(6, 4, 3)",
        """x:
        return self.conv(x).cumsum(dim=0)  # here""",
        "torch.randn(5, 6, 11)",
    ),
    "batch-axis: joined along the batch, then paired": (
        "self.fc = nn.Linear(6, 5)\nself.out = nn.Linear(10, 1)",
        """a, b:
        both = torch.cat((self.fc(a), self.fc(b)))  # here
        return self.out(both.view(a.size(0), -1))""",
        "torch.randn(8, 6), torch.randn(8, 6)",
    ),
}

LEGAL = {
    "over the one key that there is yet": (
        ATTENTION,
        """x:
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        return F.softmax(scores / 6**0.5, dim=-1) @ self.v(x)""",
        "torch.randn(3, 1, 6)",
    ),
    "attention": (
        ATTENTION,
        """x:
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        other = torch.bmm(self.q(x), self.k(x).transpose(1, 2)).softmax(dim=-1)
        value = torch.bmm(self.v(x).transpose(1, 2), other.transpose(1, 2))
        return F.softmax(scores, dim=-1) @ self.v(x), value""",
        "torch.randn(3, 7, 6)",
    ),
    "pooling over time": (
        "self.fc = nn.Linear(6, 1)\nself.many = nn.Linear(6, 4)",
        """x:
        one = (self.fc(x).softmax(dim=1) * x).sum(dim=1)
        weights = self.many(x).softmax(dim=1)
        two = (weights.mT.unsqueeze(-1) * x[:, None]).sum(2)
        return one, two, weights.transpose(1, 2) @ x""",
        "torch.randn(3, 7, 6)",
    ),
    "a bag of instances": (
        "self.fc = nn.Linear(6, 4)\nself.a = nn.Linear(4, 1)\nself.b = nn.Linear(4, 3)",
        """x:
        h = torch.tanh(self.fc(x))
        a = F.softmax(self.a(h).t(), dim=1)
        b = F.softmax(self.b(h), dim=0)
        return a @ h, b.t() @ h""",
        "torch.randn(11, 6)",
    ),
    "contrastive logits": (
        "self.fc = nn.Linear(6, 4)",
        """a, b:
        a, b = F.normalize(self.fc(a), dim=-1), F.normalize(self.fc(b), dim=-1)
        logits = a @ b.t() / 0.07
        labels = torch.arange(len(a), device=a.device)
        both = F.log_softmax(logits, dim=0) + F.log_softmax(logits, dim=1)
        return both.diag().mean() + F.cross_entropy(logits, labels)""",
        "torch.randn(5, 6), torch.randn(5, 6)",
    ),
    "slots that compete": (
        ATTENTION + "\nself.slots = nn.Parameter(torch.randn(4, 6))",
        """x:
        slots = self.slots.expand(x.size(0), -1, -1)
        for _ in range(2):
            dots = torch.einsum("bid,bjd->bij", self.q(slots), self.k(x))
            attn = dots.softmax(dim=1) + 1e-8
            attn = attn / attn.sum(dim=-1, keepdim=True)
            slots = torch.einsum("bjd,bij->bid", self.v(x), attn)
        return slots""",
        "torch.randn(3, 7, 6)",
    ),
    "clusters that compete": (
        "self.assign = nn.Conv1d(6, 4, 1)\nself.c = nn.Parameter(torch.randn(4, 6))\n"
        "self.pool = nn.Linear(6, 3)",
        """x:
        soft = self.assign(x).softmax(dim=1)
        residual = x[:, None] - self.c[None, :, :, None]
        vlad = (residual * soft.unsqueeze(2)).sum(dim=-1)
        s = self.pool(x.mT).softmax(dim=-1)
        return F.normalize(vlad.flatten(1), dim=1), s.transpose(1, 2) @ x.mT""",
        "torch.randn(3, 6, 9)",
    ),
    "linear attention": (
        ATTENTION,
        """x:
        q = self.q(x).softmax(dim=-1)
        k = self.k(x).softmax(dim=-2)
        context = k.transpose(1, 2) @ self.v(x)
        return q @ context""",
        "torch.randn(3, 7, 6)",
    ),
    "attention both ways": (
        ATTENTION,
        """c, q:
        s = self.q(c) @ self.k(q).transpose(1, 2)
        rows, columns = s.softmax(dim=2), s.softmax(dim=1)
        a = torch.bmm(rows, q)
        b = torch.bmm(torch.bmm(rows, columns.transpose(1, 2)), c)
        return torch.cat([c, a, c * a, c * b], dim=-1)""",
        "torch.randn(3, 9, 6), torch.randn(3, 7, 6)",
    ),
    "experts": (
        "self.gate = nn.Linear(6, 4)\n"
        "self.experts = nn.ModuleList(nn.Linear(6, 5) for _ in range(4))",
        """x:
        g = self.gate(x).softmax(dim=-1)
        y = torch.stack([e(x) for e in self.experts], dim=1)
        balance = (g.mean(0) * g.mean(0)).sum()
        return (g.unsqueeze(-1) * y).sum(dim=1), balance""",
        "torch.randn(9, 6)",
    ),
    "running sums": (
        "self.conv = nn.Conv1d(6, 4, 3)",
        """x, lengths:
        y = self.conv(x).cumsum(dim=-1)
        return y, lengths.cumsum(0), y.flatten(0, 1).cumsum(0)""",
        "torch.randn(5, 6, 11), torch.arange(1, 6)",
    ),
    "weights of samples": (
        "self.fc = nn.Linear(6, 4)",
        """x, y:
        loss = F.cross_entropy(self.fc(x), y, reduction="none")
        return (F.softmax(loss, dim=0).detach() * loss).sum()""",
        "torch.randn(9, 6), torch.randint(0, 4, (9,))",
    ),
    "weights of a layer, and of columns": (
        "self.w = nn.Parameter(torch.randn(6, 4))",
        """x:
        return F.normalize(x, dim=1) @ F.normalize(self.w, dim=0)""",
        "torch.randn(9, 6)",
    ),
    "statistics by hand": (
        "self.fc = nn.Linear(6, 4)",
        """x, y:
        a, b = self.fc(x), self.fc(y)
        a = (a - a.mean(0)) / a.std(0)
        b = (b - b.mean(0, keepdim=True)) / (b.var(0, keepdim=True) + 1e-5).sqrt()
        c = a.T @ b / len(a)
        return (c - torch.eye(4, device=c.device)).pow(2).sum()""",
        "torch.randn(9, 6), torch.randn(9, 6)",
    ),
    "mixup": (
        "self.fc = nn.Linear(6, 4)",
        """x, y:
        order = torch.randperm(x.size(0), device=x.device)
        mixed = 0.3 * x + 0.7 * x[order]
        out = self.fc(mixed)
        return 0.3 * F.cross_entropy(out, y) + 0.7 * F.cross_entropy(out, y[order])""",
        "torch.randn(9, 6), torch.randint(0, 4, (9,))",
    ),
    "graph attention": (
        "self.w = nn.Linear(6, 4)\nself.a = nn.Linear(4, 1)",
        """x, adjacent:
        h = self.w(x)
        e = F.leaky_relu(self.a(h) + self.a(h).T)
        e = e.masked_fill(adjacent == 0, -1e9)
        return torch.matmul(F.softmax(e, dim=1), h)""",
        "torch.randn(9, 6), torch.ones(9, 9)",
    ),
    "channels and rows compared along dim 1, and frames where it is said": (
        "self.conv, self.fc = nn.Conv2d(3, 8, 3), nn.Linear(6, 8)",
        """image, x:
        maps, rows = F.normalize(self.conv(image)), F.normalize(self.fc(x[:, 0]))
        along = F.cosine_similarity(self.fc(x), self.fc(x + 1), 1)
        return maps, rows, along, F.normalize(self.fc(x), dim=1)""",
        "torch.randn(3, 3, 9, 9), torch.randn(3, 7, 6)",
    ),
    "messages along edges": (
        "self.w = nn.Linear(6, 4)",
        """x, edges:
        h = self.w(x)
        out = torch.zeros_like(h).index_add_(0, edges[1], h[edges[0]])
        return out.softmax(dim=0)""",
        "torch.randn(9, 6), torch.randint(0, 9, (2, 20))",
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


POLICY = """\
import torch
from torch import nn

policy = nn.Sequential(nn.Linear(4, 2), {layer})
with torch.no_grad():
    probabilities = policy(torch.randn({one}))
loss = -policy(torch.randn(6, 4)).clamp(min=1e-6).log()[:, 0].mean()
loss.backward()
"""


@pytest.mark.parametrize(
    ("layer", "one", "is_wrong"),
    [
        ("nn.Softmax(dim=0)", "4", True),
        ("nn.Softmax(dim=-1)", "4", False),
        ("nn.Softmax(dim=1)", "1, 4", False),
        ("nn.Sigmoid()", "4", False),
    ],
)
def test_one_sample_and_a_batch_of_the_same_layer(
    layer: str, one: str, is_wrong: bool, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, POLICY.format(layer=layer, one=one))
    found = [f for f in report.findings if "right for both" in f.message]
    assert len(found) == is_wrong
