import os
import tempfile
from typing import Optional

import torch
import torch.nn as nn


class SensorEncoder(nn.Module):
    """1-D conv encoder for ECG beats (1 lead, 180 samples) -> 5 beat types."""

    def __init__(self, width: int = 24, n_out: int = 5):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, width, 7, stride=2, padding=3),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Conv1d(width, 2 * width, 5, stride=2, padding=2),
            nn.BatchNorm1d(2 * width),
            nn.ReLU(),
        )
        self.attn = nn.Linear(2 * width, 1)
        self.fc = nn.Linear(2 * width, n_out)

    def forward(self, beats: torch.Tensor) -> torch.Tensor:
        h = self.conv(beats).transpose(1, 2)
        w = torch.softmax(self.attn(h), dim=1)
        return self.fc((w * h).sum(dim=1))


def fake_beats(n: int, gen: torch.Generator):
    y = torch.randint(0, 5, (n,), generator=gen)
    t = torch.linspace(-1, 1, 180)
    centre = (y.float() - 2).unsqueeze(1) * 0.12
    spike = torch.exp(-((t - centre) ** 2) / 0.002)
    wave = 0.3 * torch.exp(-((t - 0.5) ** 2) / 0.02) * (y % 2).unsqueeze(1)
    return (spike + wave + 0.05 * torch.randn(n, 180, generator=gen)).unsqueeze(1), y


def train(model: nn.Module, gen: torch.Generator, steps: int = 60) -> None:
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    loss_fn = nn.CrossEntropyLoss()
    model.train()
    for s in range(steps):
        x, y = fake_beats(64, gen)
        opt.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        opt.step()
        if (s + 1) % 20 == 0:
            print(f"step {s + 1}: {loss.item():.4f}")


def export_model(model: nn.Module, folder: str, batch: int = 1) -> str:
    model.eval()
    example = (torch.randn(batch, 1, 180),)
    program = torch.export.export(model, example)
    path = os.path.join(folder, "beats.pt2")
    torch.export.save(program, path)
    return path


class BeatScorer:
    names = ["N", "S", "V", "F", "Q"]

    def __init__(self, path: str):
        self.net = torch.export.load(path).module()
        self.calls = 0

    def __call__(self, beats: torch.Tensor, limit: Optional[int] = None):
        if beats.dim() == 2:
            beats = beats.unsqueeze(0)
        if limit is not None:
            beats = beats[:limit]
        self.calls += 1
        with torch.no_grad():
            logits = self.net(beats)
        return [self.names[k] for k in logits.argmax(dim=1).tolist()]


def main() -> None:
    torch.manual_seed(4)
    gen = torch.Generator().manual_seed(4)
    model = SensorEncoder()
    train(model, gen)
    with tempfile.TemporaryDirectory() as tmp:
        scorer = BeatScorer(export_model(model, tmp))
    beats, truth = fake_beats(40, gen)
    print("single beat:", scorer(beats[0]), "expected", scorer.names[truth[0]])
    found = scorer(beats)
    right = sum(f == scorer.names[t] for f, t in zip(found, truth.tolist()))
    print(f"record: {right}/{len(beats)} beats right")


if __name__ == "__main__":
    main()
