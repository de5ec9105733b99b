from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

hp = SimpleNamespace(n_mels=20, K=4, bank=12, rnn=16, n_fft=101)


class ConvBank(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.bank = nn.ModuleList(
            nn.Conv1d(hp.n_mels, hp.bank, k, padding=k // 2) for k in range(1, hp.K + 1)
        )
        self.proj1 = nn.Conv1d(hp.bank, hp.bank, 3, padding=1)
        self.proj2 = nn.Conv1d(hp.bank, hp.n_mels, 3, padding=1)

    def forward(self, x):
        T = x.size(-1)
        h = torch.cat([F.relu(conv(x))[:, :, :T] for conv in self.bank], dim=1)
        h = F.max_pool1d(h, 2, stride=1, padding=1)[:, :, :T]
        h = F.relu(self.proj1(h))
        return self.proj2(h) + x


class Model(nn.Module):
    """The post-net: mel to linear spectrogram."""

    def __init__(self):
        super().__init__()
        self.bank = ConvBank(hp)
        self.gru = nn.GRU(hp.n_mels, hp.rnn, batch_first=True, bidirectional=True)
        self.linear = nn.Linear(hp.rnn, hp.n_fft)

    def forward(self, mel):
        h = self.bank(mel.transpose(1, 2))
        h, _ = self.gru(h.transpose(1, 2))
        return self.linear(h)


def example_inputs():
    return (torch.randn(3, 25, 20),)
