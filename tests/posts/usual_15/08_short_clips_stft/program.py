"""Keyword spotting: multi-resolution log spectrograms and a conv-pool classifier."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

SR = 8000
KEYWORDS = ["yes", "no", "stop", "go"]


class ToneWords(Dataset):
    """Each word is a short chirp; durations vary as after silence trimming."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            label = int(torch.randint(0, len(KEYWORDS), (1,), generator=g))
            dur = 0.05 + 0.45 * torch.rand(1, generator=g).item()
            t = torch.arange(int(dur * SR)) / SR
            f0, slope = 300 + 350 * label, (label - 1.5) * 400
            wav = torch.sin(2 * math.pi * (f0 * t + 0.5 * slope * t ** 2))
            wav = wav + 0.1 * torch.randn(len(t), generator=g)
            self.items.append((wav, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class MultiResSpec(nn.Module):
    def __init__(self, sizes=(256, 512, 1024), bands=40):
        super().__init__()
        self.sizes = sizes
        self.bands = bands
        for n in sizes:
            self.register_buffer(f"window_{n}", torch.hann_window(n), persistent=False)

    def forward(self, wav):
        specs = []
        for n in self.sizes:
            s = torch.stft(wav, n_fft=n, hop_length=128, window=getattr(self, f"window_{n}"),
                           center=True, return_complex=True).abs()
            s = F.adaptive_avg_pool1d(s.T.contiguous(), self.bands).T
            specs.append(torch.log1p(10 * s))
        return torch.stack(specs)


frontend = MultiResSpec()


def collate(batch):
    feats = [frontend(w) for w, _ in batch]
    frames = max(f.shape[-1] for f in feats)
    feats = torch.stack([F.pad(f, (0, frames - f.shape[-1])) for f in feats])
    return feats, torch.tensor([y for _, y in batch])


class Spotter(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d((2, 1)),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveMaxPool2d((4, 1)),
        )
        self.fc = nn.Linear(128, len(KEYWORDS))

    def forward(self, x):
        return self.fc(self.net(x).flatten(1))


if __name__ == "__main__":
    torch.manual_seed(0)
    train = DataLoader(ToneWords(320, 0), batch_size=32, shuffle=True, collate_fn=collate)
    test = DataLoader(ToneWords(80, 1), batch_size=40, collate_fn=collate)
    model = Spotter()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        model.train()
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(x).argmax(1) == y).sum().item() for x, y in test)
        print(f"epoch {epoch} loss {loss.item():.3f} test acc {hits / 80:.3f}")
