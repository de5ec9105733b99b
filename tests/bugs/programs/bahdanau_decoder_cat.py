import torch
import torch.nn as nn
import torch.nn.functional as F


class AdditiveAttention(nn.Module):
    def __init__(self, hid):
        super().__init__()
        self.W = nn.Linear(hid, hid)
        self.U = nn.Linear(hid, hid)
        self.v = nn.Linear(hid, 1, bias=False)

    def forward(self, state, memory):
        e = self.v(torch.tanh(self.W(state).unsqueeze(1) + self.U(memory)))
        a = F.softmax(e.squeeze(-1), dim=-1)
        ctx = torch.bmm(a.unsqueeze(1), memory)
        return ctx, a


class Model(nn.Module):
    """One decoding step."""

    def __init__(self, hid=40, vocab=80):
        super().__init__()
        self.encoder = nn.GRU(16, hid, batch_first=True)
        self.attention = AdditiveAttention(hid)
        self.readout = nn.Linear(2 * hid, vocab)

    def forward(self, source):
        memory, h = self.encoder(source)
        state = h.squeeze(0)
        ctx, a = self.attention(state, memory)
        features = torch.cat((state, ctx), dim=1)
        return self.readout(features), a


def example_inputs():
    return (torch.randn(5, 11, 16),)
