#!/usr/bin/env python
"""Bird call / no bird call from 1 s field recordings."""
import argparse
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--sr", type=int, default=8000)
    p.add_argument("--n-fft", type=int, default=256)
    p.add_argument("--hop", type=int, default=128)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--bs", type=int, default=16)
    p.add_argument("--seed", type=int, default=9)
    return p.parse_args()


def field_recordings(n, sr, gen):
    t = torch.arange(sr) / sr
    x = 0.1 * torch.randn(n, sr, generator=gen)
    y = torch.randint(0, 2, (n,), generator=gen)
    for i in range(n):
        if y[i] == 1:
            start = 0.7 * torch.rand(1, generator=gen)
            f = 2000 + 800 * torch.rand(1, generator=gen)
            envelope = torch.exp(-((t - start - 0.15) / 0.05) ** 2)
            x[i] += 0.5 * envelope * torch.sin(2 * math.pi * (f + 1500 * (t - start)) * t)
    return x, y


class Spectrogram(nn.Module):
    def __init__(self, n_fft, hop):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, wav):
        return torch.stft(wav, self.n_fft, hop_length=self.hop, window=self.window,
                          return_complex=True).abs()


class BirdDetector(nn.Module):
    def __init__(self, n_fft, hop):
        super().__init__()
        self.frontend = Spectrogram(n_fft, hop)
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.out = nn.Linear(32, 1)

    def features(self, spec):
        h = F.max_pool2d(F.relu(self.c1(spec)), 2)
        h = F.max_pool2d(F.relu(self.c2(h)), 2)
        return h.amax(dim=(2, 3))

    def forward(self, wav):
        spec = self.frontend(wav).unsqueeze(1)
        return self.out(self.features(spec)).squeeze(1)


def batches(x, y, bs, gen):
    order = torch.randperm(len(x), generator=gen)
    for chunk in order.split(bs):
        yield x[chunk], y[chunk]


def main():
    args = parse()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    x_train, y_train = field_recordings(160, args.sr, gen)
    x_test, y_test = field_recordings(60, args.sr, gen)

    model = BirdDetector(args.n_fft, args.hop)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for wav, label in batches(x_train, y_train, args.bs, gen):
            loss = F.binary_cross_entropy_with_logits(model(wav), label.float())
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(wav)
        model.eval()
        with torch.no_grad():
            acc = ((model(x_test) > 0).long() == y_test).float().mean().item()
        print(f"epoch {epoch} loss {total / len(x_train):.4f} test acc {acc:.3f}")


if __name__ == "__main__":
    main()
