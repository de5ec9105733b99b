import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, n_in=7, hid=8, layers=2, classes=3):
        super().__init__()
        self.hid, self.layers = hid, layers
        self.rnn = nn.LSTM(n_in, hid, layers, bidirectional=True)
        self.fc = nn.Linear(2 * hid, classes)

    def joined(self, h, out):
        """h (layers * 2, B, H), out (T, B, 2H)."""
        a = torch.cat((h[-2], h[-1]), dim=1)

        b = h.view(self.layers, 2, -1, self.hid)[-1]
        b = b.transpose(0, 1).reshape(a.shape)

        T, B = out.shape[:2]
        both = out.view(T, B, 2, self.hid)
        c = torch.cat([both[-1, :, 0], both[0, :, 1]], dim=-1)

        assert torch.allclose(a, b) and torch.allclose(a, c)
        return a

    def forward(self, x):
        x = x.transpose(0, 1)
        zeros = x.new_zeros(2 * self.layers, x.size(1), self.hid)
        out, (h, _) = self.rnn(x, (zeros, zeros))
        state = self.joined(h, out)
        return state, self.fc(state)


def example_inputs():
    return (torch.randn(5, 11, 7),)
