"""Bird call classification from raw clips."""
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SPECIES = {"blackbird": 600.0, "great_tit": 900.0, "chiffchaff": 1300.0}
SR = 8000


class BirdCalls(Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.clips = []
        names = list(SPECIES)
        for _ in range(n):
            k = rnd.randrange(len(names))
            seconds = rnd.uniform(0.25, 0.5)
            self.clips.append((k, seconds, rnd.uniform(-40, 40)))

    def __len__(self):
        return len(self.clips)

    def _synth(self, k, seconds, detune):
        t = torch.arange(int(seconds * SR)) / SR
        f = list(SPECIES.values())[k] + detune
        return torch.sin(2 * math.pi * f * t) + 0.1 * torch.randn_like(t)

    def __getitem__(self, idx):
        k, seconds, detune = self.clips[idx]
        wav = self._synth(k, seconds, detune)
        wav = wav / wav.abs().max()
        return wav.unsqueeze(0), k


class WaveCNN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.c1 = nn.Conv1d(1, 16, 64, stride=8)
        self.b1 = nn.BatchNorm1d(16)
        self.c2 = nn.Conv1d(16, 32, 9, stride=4)
        self.b2 = nn.BatchNorm1d(32)
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        x = F.relu(self.b1(self.c1(x)))
        x = F.relu(self.b2(self.c2(x)))
        return self.fc(x.mean(dim=-1))


def evaluate(model, loader):
    model.eval()
    ok = n = 0
    with torch.no_grad():
        for wav, k in loader:
            ok += (model(wav).argmax(1) == k).sum().item()
            n += k.size(0)
    return ok / n


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(BirdCalls(120, 1), batch_size=12, shuffle=True)
    valid_loader = DataLoader(BirdCalls(36, 2), batch_size=12)

    model = WaveCNN(len(SPECIES))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(3):
        model.train()
        for wav, k in train_loader:
            loss = F.cross_entropy(model(wav), k)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, round(loss.item(), 3), "valid", round(evaluate(model, valid_loader), 3))
