"""A `view` where a transpose was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.hazards import found, program, warned

TRUE = {
    "time and channels": (
        "self.conv = nn.Conv1d(6, 8, 3)",
        """x:
        B, T, C = x.shape
        return self.conv(x.view(B, C, T))  # here""",
        "torch.randn(4, 11, 6)",
    ),
    "time and channels, computed by halves": (
        "self.conv = nn.Conv1d(6, 8, 3)",
        """x:
        B, T, C = x.shape
        half = C // 2
        return self.conv(x.view(B, half * 2, T))  # here""",
        "torch.randn(4, 11, 6)",
    ),
    "few classes by the name of their number": (
        "self.score = nn.Conv2d(3, 4, 1)",
        """x:
        out = self.score(x)
        n, c, h, w = out.size()
        out = F.softmax(out.view(-1, c), dim=1)  # here
        return out.view(n, c, h, w)""",
        "torch.randn(5, 3, 8, 8)",
    ),
    "heads merged without a transpose": (
        "self.qkv = nn.Linear(12, 36)",
        """x:
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, 3, 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return y.reshape(B, T, C)  # here""",
        "torch.randn(2, 7, 12)",
    ),
    "heads of a grid of patches merged without a transpose": (
        "self.cut = nn.Conv2d(3, 12, 4, stride=4)\nself.qkv = nn.Linear(12, 36)",
        """x:
        x = self.cut(x).flatten(2).transpose(1, 2)
        B, N, C = x.shape
        q, k, v = self.qkv(x).view(B, N, 3, 3, 4).permute(2, 0, 3, 1, 4)
        y = (q @ k.mT / 2).softmax(-1) @ v
        return y.reshape(B, N, C)  # here""",
        "torch.randn(2, 3, 16, 20)",
    ),
    "heads split before the time": (
        "self.q = nn.Linear(12, 12)",
        """x:
        B, T, C = x.shape
        return self.q(x).view(B, 4, T, 3)  # here""",
        "torch.randn(2, 7, 12)",
    ),
    "images with channels last": (
        "self.conv = nn.Conv2d(3, 4, 3)",
        """x:
        return self.conv(x.reshape(-1, 3, 16, 16))  # here""",
        "torch.randn(5, 16, 16, 3)",
    ),
    "logits by vocabulary": (
        "self.emb = nn.Embedding(30, 8)\nself.out = nn.Linear(8, 30)",
        """ids, target:
        logits = self.out(self.emb(ids))
        logits = logits.view(logits.size(0), 30, -1)  # here
        return F.cross_entropy(logits, target)""",
        "torch.randint(0, 30, (4, 9)), torch.randint(0, 30, (4, 9))",
    ),
    "states of both directions": (
        "self.rnn = nn.GRU(6, 5, bidirectional=True, batch_first=True)",
        """x:
        _, h = self.rnn(x)
        return h.view(x.size(0), -1)  # here""",
        "torch.randn(7, 11, 6)",
    ),
    "features of a convolution as tokens": (
        "self.conv = nn.Conv2d(3, 10, 3, stride=2)\nself.fc = nn.Linear(10, 4)",
        """x:
        f = self.conv(x)
        return self.fc(f.view(f.size(0), -1, f.size(1)))  # here""",
        "torch.randn(2, 3, 15, 15)",
    ),
    "batch and time": (
        "self.rnn = nn.GRU(6, 5)",
        """x:
        B, T, C = x.shape
        out, _ = self.rnn(x.reshape(T, B, C))  # here
        return out""",
        "torch.randn(4, 11, 6)",
    ),
    "rows of several samples": (
        "self.conv = nn.Conv2d(1, 4, 3)\nself.fc = nn.Linear(150, 3)",
        """x:
        return self.fc(self.conv(x).view(-1, 150))  # here""",
        "torch.randn(6, 1, 12, 12)",
    ),
}

LEGAL = {
    "few classes moved behind the pixels": (
        "self.score = nn.Conv2d(3, 4, 1)",
        """x:
        out = self.score(x)
        n, c, h, w = out.size()
        out = out.permute(0, 2, 3, 1).reshape(-1, c)
        return F.softmax(out, dim=1).view(n, h, w, c).permute(0, 3, 1, 2)""",
        "torch.randn(5, 3, 8, 8)",
    ),
    "few channels in groups": (
        "self.score = nn.Conv2d(3, 4, 1)",
        """x:
        out = self.score(x)
        n, c, h, w = out.shape
        out = out.view(n, 2, c // 2, h, w).transpose(1, 2)
        return out.reshape(n, c, h, w)""",
        "torch.randn(5, 3, 8, 8)",
    ),
    "heads split and merged": (
        "self.qkv = nn.Linear(12, 36)\nself.out = nn.Linear(12, 12)",
        """x:
        B, T, C = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(B, T, 4, 3).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        folded = q.reshape(B * 4, T, 3)
        back = folded.view(B, 4, T, 3).permute(0, 2, 1, 3)
        return self.out(y.transpose(1, 2).reshape(B, T, C)), back.flatten(2)""",
        "torch.randn(2, 7, 12)",
    ),
    "heads of a grid of patches merged": (
        "self.cut = nn.Conv2d(3, 12, 4, stride=4)\nself.qkv = nn.Conv2d(12, 36, 1)",
        """x:
        B, _, H, W = (x := self.cut(x)).shape
        q, k, v = self.qkv(x).view(B, 3, 3, 4, H * W).unbind(1)
        y = v @ (q.mT @ k / 2).softmax(-1).mT
        rows = (q.mT @ k / 2).softmax(-1) @ v.mT
        return y.reshape(B, 12, H, W), rows.transpose(1, 2).reshape(B, H * W, 12)""",
        "torch.randn(2, 3, 16, 20)",
    ),
    "time folded into the batch": (
        "self.conv = nn.Conv2d(3, 4, 3)",
        """x:
        B, T = x.shape[:2]
        y = self.conv(x.view(B * T, *x.shape[2:]))
        return y.view(B, T, -1).mean(1), x.reshape(-1, 3, 12, 12)""",
        "torch.randn(2, 5, 3, 12, 12)",
    ),
    "patches": (
        "self.fc = nn.Linear(48, 8)",
        """x:
        B = x.size(0)
        p = x.reshape(B, 3, 4, 4, 5, 4).permute(0, 2, 4, 3, 5, 1)
        return self.fc(p.reshape(B, 20, 48))""",
        "torch.randn(2, 3, 16, 20)",
    ),
    "windows and back": (
        "self.fc = nn.Linear(6, 6)",
        """x:
        B, H, W, C = x.shape
        w = x.view(B, H // 4, 4, W // 4, 4, C).permute(0, 1, 3, 2, 4, 5)
        w = self.fc(w.reshape(-1, 16, C)).view(-1, 4, 4, C)
        y = w.view(B, H // 4, W // 4, 4, 4, C).permute(0, 1, 3, 2, 4, 5)
        return y.reshape(B, H, W, C)""",
        "torch.randn(2, 8, 16, 6)",
    ),
    "channel shuffle and groups": (
        "self.conv = nn.Conv2d(3, 12, 1)",
        """x:
        y = self.conv(x)
        B, C, H, W = y.shape
        s = y.view(B, 3, 4, H, W).transpose(1, 2).reshape(B, C, H, W)
        g = s.view(B, 4, -1)
        return ((g - g.mean(-1, keepdim=True)) / g.std(-1, keepdim=True)).view_as(y)""",
        "torch.randn(2, 3, 9, 10)",
    ),
    "boxes of a detector whose classes are as many as its columns": (
        "self.head = nn.Conv2d(3, 15, 1)",
        """x:
        y = self.head(x).permute(0, 2, 3, 1)
        return y.reshape(x.size(0), -1, 5)""",
        "torch.randn(2, 3, 5, 5)",
    ),
    "relative shift": (
        "self.q = nn.Linear(6, 6)\nself.r = nn.Parameter(torch.randn(7, 6))",
        """x:
        B, T, C = x.shape
        s = self.q(x) @ self.r.t()
        s = torch.cat([s.new_zeros(B, T, 1), s], dim=-1)
        s = s.view(B, T + 1, T)[:, 1:].view(B, T, T)
        p = F.pad(self.q(x) @ self.r.t(), (1, 0))
        return s, p.reshape(B, T + 1, T)[:, 1:]""",
        "torch.randn(2, 7, 6)",
    ),
    "everything off the diagonal": (
        "self.fc = nn.Linear(5, 4)",
        """x:
        s = self.fc(x) @ self.fc(x).t()
        n = s.size(0)
        return s.flatten()[1:].view(n - 1, n + 1)[:, :-1].reshape(n, n - 1)""",
        "torch.randn(6, 5)",
    ),
    "patches of a series, as long together as the series": (
        "self.fc = nn.Linear(32, 8)",
        """x:
        B, T, C = x.shape
        return self.fc(x.reshape(B, T // 8, 8 * C))""",
        "torch.randn(3, 32, 4)",
    ),
    "patches of a series, counted before": (
        "self.fc = nn.Linear(24, 8)",
        """x:
        B, T, C = x.shape
        patches = T // 4
        return self.fc(x.contiguous().view(B, patches, -1))""",
        "torch.randn(3, 24, 6)",
    ),
    "a pyramid that joins steps": (
        "self.rnn = nn.GRU(12, 6, batch_first=True)",
        """x:
        B, T, C = x.shape
        out, _ = self.rnn(x.view(B, T // 2, C * 2))
        return out""",
        "torch.randn(2, 8, 6)",
    ),
    "two views of each sample": (
        "self.fc = nn.Linear(5, 4)",
        """a, b:
        z = self.fc(torch.cat([a, b]))
        one, two = z.chunk(2)
        pairs = z.view(2, a.size(0), -1).transpose(0, 1)
        return one @ two.t(), pairs.reshape(a.size(0), -1)""",
        "torch.randn(6, 5), torch.randn(6, 5)",
    ),
    "losses on flat logits": (
        "self.emb = nn.Embedding(30, 8)\nself.out = nn.Linear(8, 30)",
        """ids, target:
        logits = self.out(self.emb(ids))
        one = F.cross_entropy(logits.view(-1, 30), target.view(-1))
        return one + F.cross_entropy(logits.transpose(1, 2), target)""",
        "torch.randint(0, 30, (4, 9)), torch.randint(0, 30, (4, 9))",
    ),
    "states by layer and direction": (
        "self.rnn = nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True)",
        """x:
        out, (h, c) = self.rnn(x)
        h = h.view(2, 2, x.size(0), 5)[-1]
        both = torch.cat([h[0], h[1]], dim=-1)
        out = out.view(*x.shape[:2], 2, 5).sum(2)
        return both, out, h.transpose(0, 1).flatten(1)""",
        "torch.randn(7, 11, 6)",
    ),
    "pixel shuffle by hand": (
        "self.conv = nn.Conv2d(3, 12, 1)",
        """x:
        B, _, H, W = x.shape
        y = self.conv(x).view(B, 3, 2, 2, H, W)
        return y.permute(0, 1, 4, 2, 5, 3).reshape(B, 3, H * 2, W * 2)""",
        "torch.randn(2, 3, 9, 10)",
    ),
    "equal sizes": (
        "self.fc = nn.Linear(8, 8)",
        """x:
        return self.fc(x).view(x.size(0), 8, 8).sum(1)""",
        "torch.randn(8, 8, 8)",
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_true(tmp_path: Path, name: str) -> None:
    said = warned(tmp_path, program(*TRUE[name]))
    assert [each.endswith("# here") for each in said] == [True]
    assert said[0].startswith("view-mixes-dims: ")


@pytest.mark.parametrize("name", LEGAL)
def test_legal(tmp_path: Path, name: str) -> None:
    assert warned(tmp_path, program(*LEGAL[name])) == []


def test_the_message_holds_the_evidence(tmp_path: Path) -> None:
    (one,) = found(tmp_path, program(*TRUE["time and channels"]))
    assert one.message == (
        "`Tensor.view` of `x` (4, 11, 6) to (4, 6, 11) moves no elements: dim 2 is as "
        "long as dim 1 was, but counts others"
    )
    assert one.related[0].message.startswith("11 is dim 1 of the input")
