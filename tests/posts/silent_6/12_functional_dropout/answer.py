import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

RATE = 2000
KEYWORDS = {"low": (180, 220), "mid": (320, 360), "high": (520, 560)}


class ToneClips(Dataset):
    """Half-second clips of a noisy glide between two frequencies."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        t = np.arange(RATE // 2) / RATE
        names = list(KEYWORDS)
        self.labels = rng.integers(0, len(names), n)
        clips = []
        for k in self.labels:
            f0, f1 = KEYWORDS[names[k]]
            freq = np.linspace(f0, f1, len(t)) * rng.uniform(0.8, 1.25)
            wave = np.sin(2 * np.pi * np.cumsum(freq) / RATE)
            clips.append(wave + 0.6 * rng.standard_normal(len(t)))
        waves = torch.tensor(np.stack(clips), dtype=torch.float32)
        spec = torch.stft(waves, 128, 64, window=torch.hann_window(128), return_complex=True)
        self.spec = torch.log1p(spec.abs()) - 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.spec[i], int(self.labels[i])


class KeywordCNN(nn.Module):
    def __init__(self, bins=65, classes=3):
        super().__init__()
        self.conv1 = nn.Conv1d(bins, 32, 3, padding=1)
        self.conv2 = nn.Conv1d(32, 32, 3, padding=1)
        self.fc1 = nn.Linear(32, 32)
        self.fc2 = nn.Linear(32, classes)

    def forward(self, spec):
        h = F.relu(self.conv1(spec))
        h = F.relu(self.conv2(h))
        h = h.mean(dim=2)
        h = F.dropout(h, p=0.5, training=self.training)
        h = torch.tanh(self.fc1(h))
        return self.fc2(h)


def train_one_epoch(model, loader, opt):
    model.train()
    total = 0.0
    for spec, label in loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(spec), label)
        loss.backward()
        opt.step()
        total += loss.item() * len(label)
    return total / len(loader.dataset)


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for spec, label in loader:
            correct += (model(spec).argmax(1) == label).sum().item()
    return correct / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(ToneClips(600, 0), batch_size=30, shuffle=True)
    test_loader = DataLoader(ToneClips(200, 1), batch_size=100)
    model = KeywordCNN()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(10):
        print(f"epoch {epoch} loss {train_one_epoch(model, train_loader, opt):.4f}")
    print("test accuracy, five times:", [round(evaluate(model, test_loader), 3) for _ in range(5)])
