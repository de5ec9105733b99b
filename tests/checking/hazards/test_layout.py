"""Which dim is time: layers and steps that disagree."""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.hazards import found, program, warned

TABLE = """
pe = torch.zeros(50, 1, 8)
self.register_buffer("pe", pe)
"""

CONV = "self.conv = nn.Conv2d(3, 6, 3)\n"
TRUE = {
    "layout: the channels of maps": (
        CONV + "self.rnn = nn.LSTM(36, 8)\nself.out = nn.Linear(48, 2)",
        """x:
        maps = torch.relu(self.conv(x)).flatten(2)
        out, _ = self.rnn(maps)  # here
        return self.out(out.reshape(x.size(0), -1))""",
        "torch.randn(5, 3, 8, 8)",
    ),
    "layout: the channels of signals": (
        "self.conv = nn.Conv1d(3, 6, 3)\nself.rnn = nn.GRU(6, 8)",
        """x:
        out, _ = self.rnn(torch.relu(self.conv(x)))  # here
        return out.flatten(1)""",
        "torch.randn(5, 3, 8)",
    ),
    "layout: the last step of dim 1": (
        "self.rnn = nn.LSTM(6, 8)",
        """x:
        out, _ = self.rnn(x)  # here
        return out[:, -1]""",
        "torch.randn(5, 11, 6)",
    ),
    "layout: the last step after a norm": (
        "self.rnn = nn.GRU(6, 8)\nself.norm = nn.LayerNorm(8)",
        """x:
        out, _ = self.rnn(x)  # here
        out = torch.relu(self.norm(out))
        return out[:, -1, :]""",
        "torch.randn(5, 11, 6)",
    ),
    "layout: the mean of dim 1": (
        "layer = nn.TransformerEncoderLayer(8, 2, 16)\n"
        "self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)\n"
        "self.emb = nn.Embedding(20, 8)",
        """ids:
        x = self.encoder(self.emb(ids))  # here
        return x.mean(dim=1)""",
        "torch.randint(0, 20, (5, 11))",
    ),
    "layout: positions along dim 1": (
        "self.attn = nn.MultiheadAttention(8, 2)\n"
        "self.pos = nn.Parameter(torch.zeros(1, 50, 8))",
        """x:
        x = x + self.pos[:, : x.size(1)]
        y, _ = self.attn(x, x, x)  # here
        return x + y""",
        "torch.randn(5, 11, 8)",
    ),
    "layout: the first token of dim 1": (
        "layer = nn.TransformerEncoderLayer(8, 2, 16)\n"
        "self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)\n"
        "self.cls = nn.Parameter(torch.zeros(1, 1, 8))",
        """x:
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], dim=1)
        x = self.encoder(x)  # here
        return x[:, 0]""",
        "torch.randn(5, 11, 8)",
    ),
    "layout: rows of an embedding along dim 1": (
        "self.attn = nn.MultiheadAttention(8, 2)\nself.pos = nn.Embedding(50, 8)",
        """x:
        steps = torch.arange(x.size(1), device=x.device)
        x = x + self.pos(steps)[None]
        return self.attn(x, x, x)[0]  # here""",
        "torch.randn(5, 11, 8)",
    ),
    "layout: a comment says so": (
        "self.rnn = nn.GRU(6, 8)",
        """x:
        # x: (batch, time, features)
        out, _ = self.rnn(x)  # here
        return out""",
        "torch.randn(5, 11, 6)",
    ),
    "layout: names of the sizes": (
        "self.rnn = nn.GRU(6, 8)\nself.fc = nn.Linear(8, 2)",
        """x:
        batch_size, seq_len, _ = x.shape
        out, _ = self.rnn(x)  # here
        return self.fc(out).view(batch_size, seq_len, 2)""",
        "torch.randn(5, 11, 6)",
    ),
    "wrong-axis: the state of the last sample": (
        "self.rnn = nn.GRU(6, 8, 2, batch_first=True)",
        """x:
        _, h = self.rnn(x)
        return h[:, -1]  # here""",
        "torch.randn(5, 11, 6)",
    ),
    "wrong-axis: the last sample": (
        "self.rnn = nn.GRU(6, 8, batch_first=True)\nself.fc = nn.Linear(8, 2)",
        """x:
        out, _ = self.rnn(x)
        return self.fc(out[-1])  # here""",
        "torch.randn(5, 11, 6)",
    ),
    "wrong-axis: the last sample, selected": (
        "self.rnn = nn.GRU(6, 8, batch_first=True)",
        """x:
        out, _ = self.rnn(x)
        return out.select(0, -1)  # here""",
        "torch.randn(5, 11, 6)",
    ),
    "batch-axis: a time-major table": (
        "self.attn = nn.MultiheadAttention(8, 2, batch_first=True)" + TABLE,
        """x:
        x = x + self.pe[: x.size(0)]  # here
        y, _ = self.attn(x, x, x)
        return x + y""",
        "torch.randn(5, 11, 8)",
    ),
}

LEGAL = {
    "columns of maps as steps": (
        CONV + "self.rnn = nn.LSTM(36, 8)",
        """x:
        maps = self.conv(x).flatten(1, 2)
        out, _ = self.rnn(maps.permute(2, 0, 1))
        return out[-1]""",
        "torch.randn(5, 3, 8, 8)",
    ),
    "frames of several clips": (
        CONV + "self.rnn = nn.LSTM(216, 8)",
        """x:
        maps = self.conv(x.flatten(0, 1))
        out, _ = self.rnn(maps.view(x.size(0), x.size(1), -1))
        return out[-1]""",
        "torch.randn(7, 5, 3, 8, 8)",
    ),
    "frames of one clip": (
        CONV + "self.rnn = nn.LSTM(216, 8)",
        """x:
        out, _ = self.rnn(self.conv(x).flatten(1).unsqueeze(1))
        return out[-1]""",
        "torch.randn(7, 3, 8, 8)",
    ),
    "channels as steps": (
        CONV + "self.rnn = nn.LSTM(36, 8, batch_first=True)",
        """x:
        out, _ = self.rnn(self.conv(x).flatten(2))
        return out[:, -1]""",
        "torch.randn(5, 3, 8, 8)",
    ),
    "time first": (
        "self.rnn = nn.LSTM(6, 8)",
        """x:
        out, (h, c) = self.rnn(x)
        return out[-1], h[-1], out.mean(dim=0), out[0]""",
        "torch.randn(11, 5, 6)",
    ),
    "batch first": (
        "self.rnn = nn.LSTM(6, 8, 2, batch_first=True, bidirectional=True)",
        """x:
        # (batch, time, features)
        out, (h, c) = self.rnn(x)
        both = torch.cat([h[-2], h[-1]], dim=1)
        return out[:, -1, :8], out.mean(dim=1), both, out.max(1)[0], out[:, 0, 8:]""",
        "torch.randn(5, 11, 6)",
    ),
    "turned before and after": (
        "self.rnn = nn.GRU(6, 8)",
        """x:
        # (batch, time, features)
        out, _ = self.rnn(x.transpose(0, 1))
        last = out[-1]
        back = out.permute(1, 0, 2)
        return last, back[:, -1], back.mean(1)""",
        "torch.randn(5, 11, 6)",
    ),
    "a time-major transformer with its table": (
        "layer = nn.TransformerEncoderLayer(8, 2, 16)\n"
        "self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)\n"
        "self.emb = nn.Embedding(20, 8)" + TABLE,
        """ids:
        x = self.emb(ids) + self.pe[: ids.size(0)]
        x = self.encoder(x)
        return x[0], x.mean(dim=0)""",
        "torch.randint(0, 20, (11, 5))",
    ),
    "tokens of a vision transformer": (
        "self.attn = nn.MultiheadAttention(8, 2, batch_first=True)\n"
        "self.pos = nn.Parameter(torch.zeros(1, 10, 8))\n"
        "self.cls = nn.Parameter(torch.zeros(1, 1, 8))\n"
        "self.conv = nn.Conv2d(3, 8, 4, 4)",
        """x:
        x = self.conv(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], dim=1) + self.pos
        x = x + self.attn(x, x, x, need_weights=False)[0]
        return x[:, 0], x[:, 1:].mean(dim=1)""",
        "torch.randn(5, 3, 12, 12)",
    ),
    "names of the sizes, then turned": (
        "self.rnn = nn.GRU(6, 8)",
        """x:
        batch, steps, _ = x.shape
        x = x.transpose(0, 1)
        out, _ = self.rnn(x)
        steps, batch, _ = out.shape
        return out.transpose(0, 1)""",
        "torch.randn(5, 11, 6)",
    ),
    "one sequence": (
        "self.rnn = nn.GRU(6, 8)",
        """x:
        out, _ = self.rnn(x)
        return out[-1]""",
        "torch.randn(11, 6)",
    ),
    "a loop over steps": (
        "self.cell = nn.GRUCell(6, 8)\nself.out = nn.Linear(8, 3)",
        """x:
        h = x.new_zeros(x.size(0), 8)
        outs = []
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            outs.append(self.out(h))
        y = torch.stack(outs, dim=1)
        return y[:, -1], torch.stack(outs)[-1]""",
        "torch.randn(5, 7, 6)",
    ),
    "packed sequences": (
        "self.rnn = nn.GRU(6, 8, batch_first=True)",
        """x, lengths:
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False)
        out, h = self.rnn(packed)
        out, sizes = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return out[:, -1], h[-1]""",
        "torch.randn(3, 11, 6), torch.tensor([11, 4, 7])",
    ),
    "a cache of keys and values": (
        "self.qkv = nn.Linear(8, 24)",
        """x, keys, values:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        keys, values = torch.cat([keys, k], dim=1), torch.cat([values, v], dim=1)
        y = (q @ keys.transpose(1, 2)).softmax(dim=-1) @ values
        return y[:, -1], keys, values""",
        "torch.randn(5, 1, 8), torch.randn(5, 9, 8), torch.randn(5, 9, 8)",
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


def test_the_message_holds_the_evidence(tmp_path: Path) -> None:
    (one,) = found(tmp_path, program(*TRUE["layout: the last step of dim 1"]))
    assert one.message == (
        "`rnn` takes dim 1 of (5, 11, 6) for the batch and dim 0 for time (11 samples "
        "of 5 steps), but its dim 1 is taken at -1"
    )
    assert one.related[1].span.line == one.span.line + 1  # type: ignore[union-attr]
