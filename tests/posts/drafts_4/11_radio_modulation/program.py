import logging
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("amc")

SCHEMES = ["bpsk", "qpsk", "8psk", "qam16"]


@dataclass
class Config:
    n_train: int = 3000
    n_val: int = 480
    length: int = 128
    snr_db: float = 14.0
    batch_size: int = 48
    epochs: int = 6
    lr: float = 1e-3
    device: str = "cuda" if torch.cuda.is_available() else "cpu"


class IQDataset(Dataset):
    """Baseband bursts as in-phase / quadrature pairs."""

    def __init__(self, n, cfg, seed):
        rng = np.random.default_rng(seed)
        noise = 10 ** (-cfg.snr_db / 20)
        self.labels = rng.integers(0, len(SCHEMES), n)
        bursts = []
        for label in self.labels:
            if label < 3:
                order = 2 ** (label + 1)
                symbols = np.exp(2j * np.pi * rng.integers(0, order, cfg.length // 4) / order)
            else:
                re, im = rng.choice([-3, -1, 1, 3], (2, cfg.length // 4))
                symbols = (re + 1j * im) / np.sqrt(10)
            wave = np.repeat(symbols, 4)
            wave = wave + noise * (rng.normal(size=cfg.length) + 1j * rng.normal(size=cfg.length)) / np.sqrt(2)
            bursts.append(np.stack([wave.real, wave.imag], axis=-1))
        self.bursts = np.stack(bursts).astype(np.float32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        iq = torch.from_numpy(self.bursts[i])
        return iq, int(self.labels[i])


class ModNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        layers, c_in = [], 2
        for c_out in (16, 32, 64):
            layers += [nn.Conv1d(c_in, c_out, 7, padding=3), nn.BatchNorm1d(c_out), nn.ReLU(), nn.MaxPool1d(2)]
            c_in = c_out
        self.features = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Linear(64 * 32, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, n_classes))

    def forward(self, x):
        x = self.features(x).flatten(1)
        return torch.softmax(self.head(x), dim=1)


class Trainer:
    def __init__(self, model, cfg):
        self.cfg = cfg
        self.model = model.to(cfg.device)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.train_loader = DataLoader(IQDataset(cfg.n_train, cfg, 0), cfg.batch_size, shuffle=True)
        self.val_loader = DataLoader(IQDataset(cfg.n_val, cfg, 1), cfg.batch_size)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for iq, label in self.train_loader:
            iq, label = iq.to(self.cfg.device), label.to(self.cfg.device)
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(iq), label)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(label)
        return total / self.cfg.n_train

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits = 0
        for iq, label in self.val_loader:
            pred = self.model(iq.to(self.cfg.device)).argmax(1).cpu()
            hits += (pred == label).sum().item()
        return hits / self.cfg.n_val

    def fit(self):
        for epoch in range(self.cfg.epochs):
            loss = self.train_epoch()
            log.info("epoch %d loss %.3f val acc %.3f", epoch, loss, self.validate())


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(ModNet(len(SCHEMES)), Config()).fit()
