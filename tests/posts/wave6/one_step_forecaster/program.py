import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
np.random.seed(0)


class WindowDataset(Dataset):
    def __init__(self, series, seq_len, pred_len):
        self.series = torch.from_numpy(series.astype(np.float32))
        self.seq_len, self.pred_len = seq_len, pred_len

    def __len__(self):
        return len(self.series) - self.seq_len - self.pred_len + 1

    def __getitem__(self, i):
        x = self.series[i:i + self.seq_len]
        y = self.series[i + self.seq_len:i + self.seq_len + self.pred_len, 0]
        if self.pred_len == 1:
            y = y[0]
        return x, y


class PatchForecaster(nn.Module):
    def __init__(self, n_features, seq_len, pred_len, patch=8, d_model=32):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch * n_features, d_model)
        layer = nn.TransformerEncoderLayer(d_model, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(d_model * (seq_len // patch), pred_len)

    def forward(self, x):
        b, t, f = x.shape
        x = x.reshape(b, t // self.patch, self.patch * f)
        return self.head(self.encoder(self.embed(x)).flatten(1))


def returns(n=400, n_features=4):
    noise = np.random.randn(n, n_features) * 0.01
    noise[1:, 0] += 0.4 * noise[:-1, 1]
    return noise / noise.std(axis=0)


def run(pred_len, epochs=2):
    series = returns()
    train = DataLoader(WindowDataset(series[:300], 32, pred_len), batch_size=64, shuffle=True, drop_last=True)
    val = DataLoader(WindowDataset(series[300:], 32, pred_len), batch_size=64, drop_last=True)
    model = PatchForecaster(4, 32, pred_len)
    criterion = nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        train_loss = 0.0
        for x_batch, y_batch in train:
            optimizer.zero_grad()
            pred = model(x_batch)
            loss = criterion(pred, y_batch)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            train_loss += loss.item()
        model.eval()
        val_loss = 0.0
        with torch.no_grad():
            for x_batch, y_batch in val:
                pred = model(x_batch)
                val_loss += criterion(pred, y_batch.view_as(pred)).item()
        print("h=%d epoch %d train %.4f val %.4f" % (pred_len, epoch, train_loss / len(train), val_loss / len(val)))


for horizon in (1, 5):
    run(horizon)
