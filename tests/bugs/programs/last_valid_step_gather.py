import torch
import torch.nn as nn


class LastStep(nn.Module):
    """The output of an RNN at each sequence's own last step."""

    def forward(self, out, lengths):
        last = lengths - 1
        picked = out.gather(1, last)
        return picked.squeeze(1)


class ClinicalRNN(nn.Module):
    def __init__(self, n_vitals, hidden, n_codes, dropout):
        super().__init__()
        self.rnn = nn.RNN(n_vitals, hidden, nonlinearity="relu", batch_first=True)
        self.select = LastStep()
        self.norm = nn.LayerNorm(hidden)
        self.drop = nn.Dropout(dropout)
        self.codes = nn.Linear(hidden, n_codes)

    def forward(self, vitals, lengths):
        out, _ = self.rnn(vitals)
        state = self.norm(self.select(out, lengths))
        return self.codes(self.drop(state))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = ClinicalRNN(n_vitals=11, hidden=26, n_codes=9, dropout=0.0)

    def forward(self, vitals, lengths):
        return self.net(vitals, lengths)


def example_inputs():
    return torch.randn(5, 16, 11), torch.tensor([16, 3, 9, 12, 7])
