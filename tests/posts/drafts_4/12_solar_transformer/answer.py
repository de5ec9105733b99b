import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

HPARAMS = {
    "window": 48,
    "d_model": 48,
    "nhead": 4,
    "layers": 2,
    "dropout": 0.1,
    "batch": 32,
    "epochs": 4,
    "lr": 1e-3,
}


def solar_series(days=60, seed=4):
    """Half-hourly plant output with cloud cover, values in [0, 1]."""
    rng = np.random.default_rng(seed)
    hours = np.arange(days * 48) / 2.0
    elevation = np.clip(np.sin((hours % 24 - 6) / 12 * np.pi), 0, None)
    cloud = np.repeat(rng.beta(2, 3, days), 48)
    cloud = np.clip(cloud + rng.normal(0, 0.05, days * 48), 0, 1)
    power = elevation * (1 - 0.75 * cloud)
    return np.stack([power, cloud, elevation], axis=1).astype(np.float32)


def windows(series, length):
    xs = np.stack([series[i:i + length] for i in range(len(series) - length)])
    ys = series[length:, 0]
    return torch.from_numpy(xs), torch.from_numpy(ys)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(pos * div)
        pe[0, :, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class SolarFormer(nn.Module):
    def __init__(self, n_features, hp):
        super().__init__()
        self.embed = nn.Linear(n_features, hp["d_model"])
        self.pos = PositionalEncoding(hp["d_model"])
        layer = nn.TransformerEncoderLayer(
            hp["d_model"], hp["nhead"], dim_feedforward=96, dropout=hp["dropout"], batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, hp["layers"])
        self.head = nn.Linear(hp["d_model"], 1)
        mask = nn.Transformer.generate_square_subsequent_mask(hp["window"])
        self.register_buffer("mask", mask)

    def forward(self, x):
        x = self.pos(self.embed(x))
        x = self.encoder(x, mask=self.mask)
        return self.head(x[:, -1]).squeeze(-1)


torch.manual_seed(4)
series = solar_series()
cut = 48 * 45
train = TensorDataset(*windows(series[:cut], HPARAMS["window"]))
valid_x, valid_y = windows(series[cut:], HPARAMS["window"])
loader = DataLoader(train, batch_size=HPARAMS["batch"], shuffle=True)

model = SolarFormer(series.shape[1], HPARAMS)
optimizer = torch.optim.AdamW(model.parameters(), lr=HPARAMS["lr"])

for epoch in range(HPARAMS["epochs"]):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    model.eval()
    with torch.no_grad():
        val = F.mse_loss(model(valid_x), valid_y).item()
    print(f"epoch {epoch}: valid rmse {math.sqrt(val):.4f}")
