"""A small conv + BiGRU acoustic model trained with CTC."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Subsample(nn.Module):
    def __init__(self, n_mels, channels=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, channels, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.proj = nn.Linear(channels * (n_mels // 2), 64)

    def forward(self, mels):
        x = self.conv(mels.unsqueeze(1))
        b, c, t, f = x.shape
        x = x.transpose(1, 2).reshape(b, t, c * f)
        return self.proj(x)


class Model(nn.Module):
    def __init__(self, n_mels=40, n_tokens=29):
        super().__init__()
        self.front = Subsample(n_mels)
        self.rnn = nn.GRU(64, 48, batch_first=True, bidirectional=True)
        self.head = nn.Linear(96, n_tokens)

    def forward(self, mels, targets, target_lengths):
        x, _ = self.rnn(self.front(mels))
        log_probs = self.head(x).log_softmax(dim=-1).transpose(0, 1)
        frames = log_probs.size(0)
        input_lengths = torch.full((1,), frames)
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0)


def example_inputs():
    mels = torch.randn(3, 120, 40)
    targets = torch.randint(1, 29, (3, 12))
    return mels, targets, torch.tensor([12, 9, 7])
