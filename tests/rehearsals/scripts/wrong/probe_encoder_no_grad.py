"""Fine-tune an encoder of time series together with a new classifier."""
import logging
import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(name)s %(message)s")
logger = logging.getLogger("finetune")


class Heartbeats(Dataset):
    def __init__(self, count):
        rng = np.random.default_rng(count)
        t = np.linspace(0, 1, 96)
        self.kind = rng.integers(0, 3, count)
        self.signal = np.sin(2 * np.pi * (3 + self.kind[:, None] * 2) * t)
        self.signal = (self.signal + rng.normal(0, 0.3, self.signal.shape)).astype(np.float32)

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return {"signal": self.signal[i], "kind": self.kind[i]}


class Encoder(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, width, 9, stride=4, padding=4), nn.GELU(),
            nn.Conv1d(width, width, 9, stride=4, padding=4), nn.GELU())

    def forward(self, x):
        return self.layers(x.unsqueeze(1)).mean(dim=-1)


class FineTuner:
    def __init__(self, encoder, classes, lr=3e-3):
        self.encoder = encoder
        self.head = nn.Linear(16, classes)
        self.optimizer = torch.optim.AdamW([
            {"params": self.encoder.parameters(), "lr": lr / 10},
            {"params": self.head.parameters(), "lr": lr},
        ])

    def features(self, signal):
        with torch.no_grad():
            return self.encoder(signal)

    def training_step(self, batch):
        logits = self.head(self.features(batch["signal"]))
        loss = nn.functional.cross_entropy(logits, batch["kind"])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self, loader):
        right = sum((self.head(self.encoder(b["signal"])).argmax(1) == b["kind"]).sum().item()
                    for b in loader)
        return right / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    tuner = FineTuner(Encoder(), classes=3)
    train_loader = DataLoader(Heartbeats(60), batch_size=15, shuffle=True)
    test_loader = DataLoader(Heartbeats(30), batch_size=30)
    for epoch in range(3):
        losses = [tuner.training_step(batch) for batch in train_loader]
        logger.info("epoch %d loss %.6f accuracy %.3f", epoch, np.mean(losses), tuner.evaluate(test_loader))
