"""Autoencoder-based anomaly detection on spindle current, nightly batch job."""
import logging

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("spindle")

WINDOW = 64
N_CHANNELS = 2
QUANTILE = 0.99
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def windows(n, anomaly_rate=0.0, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(WINDOW)
    phase = rng.uniform(0, 2 * np.pi, (n, 1))
    a = np.sin(2 * np.pi * t / 16 + phase)
    b = 0.5 * np.cos(2 * np.pi * t / 16 + phase) + 0.2
    x = np.stack([a, b], axis=1) + rng.normal(0, 0.1, (n, N_CHANNELS, WINDOW))
    y = rng.random(n) < anomaly_rate
    for i in np.flatnonzero(y):
        start = rng.integers(0, WINDOW - 16)
        kind = rng.integers(0, 2)
        if kind == 0:
            x[i, :, start:start + 16] *= 0.2
        else:
            x[i, 0, start:start + 8] += rng.choice([-1.5, 1.5])
    return torch.tensor(x, dtype=torch.float32), y.astype(int)


class ConvAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(N_CHANNELS, 16, 5, stride=2, padding=2), nn.GELU(),
            nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.GELU(),
            nn.Flatten(), nn.Linear(32 * WINDOW // 4, latent),
        )
        self.expand = nn.Linear(latent, 32 * WINDOW // 4)
        self.decoder = nn.Sequential(
            nn.ConvTranspose1d(32, 16, 4, stride=2, padding=1), nn.GELU(),
            nn.ConvTranspose1d(16, N_CHANNELS, 4, stride=2, padding=1),
        )

    def forward(self, x):
        h = self.expand(self.encoder(x)).view(-1, 32, WINDOW // 4)
        return self.decoder(h)


def train(model, loader, epochs=12, lr=2e-3):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for (x,) in loader:
            x = x.to(DEVICE)
            loss = F.mse_loss(model(x), x)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(x)
        if epoch % 4 == 3:
            log.info("epoch %d mse %.4f", epoch + 1, total / len(loader.dataset))


@torch.no_grad()
def anomaly_scores(model, loader):
    model.eval()
    scores = []
    for (x,) in loader:
        x = x.to(DEVICE)
        recon = model(x)
        err = F.mse_loss(recon, x, reduction="none").mean(dim=(1, 2))
        scores.extend(err.expand(len(x)).tolist())
    return np.array(scores)


def main():
    torch.manual_seed(0)
    normal, _ = windows(1500, seed=1)
    calib, _ = windows(500, seed=2)
    test_x, test_y = windows(800, anomaly_rate=0.08, seed=3)

    model = ConvAE().to(DEVICE)
    train(model, DataLoader(TensorDataset(normal), batch_size=64, shuffle=True))

    threshold = np.quantile(anomaly_scores(model, DataLoader(TensorDataset(calib), batch_size=32)), QUANTILE)
    scores = anomaly_scores(model, DataLoader(TensorDataset(test_x), batch_size=32))
    flagged = (scores > threshold).astype(int)
    p, r, f1, _ = precision_recall_fscore_support(test_y, flagged, average="binary", zero_division=0)
    log.info("threshold %.4f, flagged %d of %d windows", threshold, flagged.sum(), len(flagged))
    log.info("auc %.3f precision %.3f recall %.3f f1 %.3f", roc_auc_score(test_y, scores), p, r, f1)


if __name__ == "__main__":
    main()
