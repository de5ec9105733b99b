import time

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

np.random.seed(100)
torch.manual_seed(100)


class KlineDataset(Dataset):
    """Windows of open, high, low, close, volume and amount."""

    def __init__(self, length=113, window=65):
        close = 100 + np.random.randn(length).cumsum()
        cols = [close + np.random.randn(length) * 0.2 for _ in range(4)]
        cols += [np.random.rand(length) * 1e4, np.random.rand(length) * 1e6]
        self.data = np.stack(cols, axis=1).astype(np.float32)
        self.window = window

    def __len__(self):
        return len(self.data) - self.window + 1

    def __getitem__(self, idx):
        x = self.data[idx:idx + self.window]
        x = (x - x.mean(0)) / (x.std(0) + 1e-5)
        return torch.from_numpy(np.clip(x, -5, 5))


class KlineTokenizer(nn.Module):
    def __init__(self, d_in=6, d_model=64, bits=10):
        super().__init__()
        self.embed = nn.Linear(d_in, d_model)
        layer = nn.TransformerEncoderLayer(d_model, 4, 128, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.quant = nn.Linear(d_model, bits)
        self.decoder = nn.Sequential(nn.Linear(bits, d_model), nn.GELU(), nn.Linear(d_model, d_in))

    def forward(self, x):
        batch_size, seq_len, _ = x.shape
        z = torch.tanh(self.quant(self.encoder(self.embed(x))))
        code = z + (z.sign() - z).detach()
        usage = code.reshape(batch_size * seq_len, -1).mean(0).pow(2).mean()
        return self.decoder(code), usage


def train(epochs=1, batch_size=16):
    loader = DataLoader(KlineDataset(), batch_size=batch_size, shuffle=True)
    model = KlineTokenizer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    for epoch in range(epochs):
        start = time.time()
        for i, ori_batch_x in enumerate(loader):
            ori_batch_x = ori_batch_x.squeeze(0)
            recon, usage = model(ori_batch_x)
            loss = nn.functional.mse_loss(recon, ori_batch_x) + 0.1 * usage
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
            print(f'epoch {epoch} step {i + 1}/{len(loader)} loss {loss.item():.4f} ({time.time() - start:.1f} s)')


if __name__ == '__main__':
    train()
