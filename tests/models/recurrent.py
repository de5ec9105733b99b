"""Things with a state: LSTM, GRU, packed sequences, cells in loops, scans."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import (
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
)

from models import case


@case
def lstm():
    return nn.LSTM(6, 8, 2, batch_first=True, bidirectional=True), torch.randn(3, 5, 6)


@case
def lstm_with_state_and_projection():
    state = torch.zeros(1, 3, 4), torch.zeros(1, 3, 8)
    return nn.LSTM(6, 8, proj_size=4), torch.randn(5, 3, 6), state


@case
def gru_unbatched():
    return nn.GRU(6, 8, 2, dropout=0.1).eval(), torch.randn(5, 6)


@case
def elman():
    return nn.RNN(6, 8, nonlinearity="relu"), torch.randn(5, 3, 6)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 6)
        self.lstm = nn.LSTM(6, 8, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(16, 5)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(
            self.embed(tokens), lengths, batch_first=True, enforce_sorted=False
        )
        output, _ = self.lstm(packed)
        padded, _ = pad_packed_sequence(output, batch_first=True)
        return self.tag(padded)


@case
def packed_tagger():
    return Tagger(), torch.randint(20, (3, 7)), torch.tensor([4, 7, 2])


class Lists(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 6)

    def forward(self, sequences: list[Tensor]) -> tuple[Tensor, Tensor]:
        packed = pack_sequence(sequences, enforce_sorted=False)
        output, last = self.gru(packed)
        return output.data, last + pad_sequence(sequences).mean()


@case
def packed_list():
    return Lists(), [torch.randn(n, 4) for n in (3, 5, 2)]


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 6)
        self.gate = nn.GRUCell(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        h, c = x.new_zeros(x.size(1), 6), x.new_zeros(x.size(1), 6)
        slow = torch.zeros_like(h)
        out = torch.empty(len(x), x.size(1), 6)
        for step, row in enumerate(x.unbind(0)):
            h, c = self.cell(row, (h, c))
            slow = self.gate(h, slow)
            out[step] = slow
        return out


@case
def cells_in_a_loop():
    return Cells(), torch.randn(4, 2, 4)


class Seq2Seq(nn.Module):
    """Encoder, decoder and additive attention between them."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.GRU(5, 8, batch_first=True)
        self.decoder = nn.GRUCell(8 + 5, 8)
        self.attend = nn.Linear(16, 1)
        self.out = nn.Linear(8, 5)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory, last = self.encoder(source)
        h = last[0]
        steps = []
        for t in range(target.size(1)):
            query = h.unsqueeze(1).expand(-1, memory.size(1), -1)
            weight = self.attend(torch.cat((memory, query), -1)).softmax(1)
            context = torch.bmm(weight.mT, memory).squeeze(1)
            h = self.decoder(torch.cat((context, target[:, t]), -1), h)
            steps.append(self.out(h))
        return torch.stack(steps, 1)


@case
def attention_decoder():
    return Seq2Seq(), torch.randn(2, 6, 5), torch.randn(2, 3, 5)


class ConvLSTM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gates = nn.Conv2d(3 + 4, 16, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        h = c = torch.zeros(len(x), 4, *x.shape[-2:])
        for t in range(x.shape[1]):
            i, f, o, g = self.gates(torch.cat((x[:, t], h), 1)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return h


@case
def convolutional_lstm():
    return ConvLSTM(), torch.randn(2, 3, 3, 8, 8)


class SelectiveScan(nn.Module):
    """A state space model with a sequential scan, as in Mamba."""

    def __init__(self, width: int = 6, state: int = 4) -> None:
        super().__init__()
        self.state = state
        self.project = nn.Linear(width, 2 * width)
        self.conv = nn.Conv1d(width, width, 3, groups=width, padding=2)
        self.parameters_of = nn.Linear(width, 1 + 2 * state)
        self.a = nn.Parameter(torch.arange(1, state + 1).float().log().repeat(width, 1))

    def forward(self, x: Tensor) -> Tensor:
        u, gate = self.project(x).chunk(2, -1)
        u = F.silu(self.conv(u.mT)[..., : x.size(1)].mT)
        delta, b, c = self.parameters_of(u).split([1, self.state, self.state], -1)
        decay = torch.exp(F.softplus(delta).unsqueeze(-1) * -self.a.exp())
        h = x.new_zeros(len(x), x.size(-1), self.state)
        outputs = []
        for t in range(x.size(1)):
            h = decay[:, t] * h + u[:, t, :, None] * b[:, t, None, :]
            outputs.append((h * c[:, t, None, :]).sum(-1))
        return torch.stack(outputs, 1) * F.silu(gate)


@case
def selective_scan():
    return SelectiveScan(), torch.randn(2, 5, 6)


class WaveNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        rates = (1, 2, 4)
        self.first = nn.Conv1d(1, 8, 1)
        self.layers = nn.ModuleList(
            nn.Conv1d(8, 16, 2, dilation=rate) for rate in rates
        )
        self.skip = nn.ModuleList(nn.Conv1d(8, 4, 1) for _ in rates)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        total: Tensor | float = 0.0
        for layer, skip in zip(self.layers, self.skip, strict=True):
            y = layer(F.pad(x, (layer.dilation[0], 0)))
            y = F.glu(y, dim=1)
            total = total + skip(y)
            x = x + y
        return F.relu(total)


@case
def dilated_causal():
    return WaveNet(), torch.randn(2, 1, 20)
