import argparse
import resource

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SeriesDataset(Dataset):
    def __init__(self, n_series, encoder_length, horizon, seed=0):
        rng = np.random.RandomState(seed)
        t = np.arange(encoder_length + horizon)
        self.encoder_length = encoder_length
        self.series = []
        for _ in range(n_series):
            period, phase, level = rng.uniform(6, 20), rng.uniform(0, 6), rng.uniform(-1, 1)
            values = level + np.sin(2 * np.pi * t / period + phase) + 0.1 * rng.randn(len(t))
            self.series.append(torch.tensor(values, dtype=torch.float32))

    def __len__(self):
        return len(self.series)

    def __getitem__(self, i):
        s = self.series[i]
        return {'encoder_target': s[:self.encoder_length]}, s[self.encoder_length:]


class QuantileLoss(nn.Module):
    def __init__(self, quantiles=(0.1, 0.5, 0.9)):
        super().__init__()
        self.quantiles = quantiles

    def forward(self, y_pred, target):
        losses = []
        for i, q in enumerate(self.quantiles):
            errors = target - y_pred[..., i]
            losses.append(torch.max((q - 1) * errors, q * errors))
        return 2 * torch.stack(losses, -1).mean()


class BaseModel(nn.Module):
    def __init__(self, learning_rate=1e-3):
        super().__init__()
        self.loss = QuantileLoss()
        self.learning_rate = learning_rate
        self.train_records = []
        self.valid_records = []

    def step(self, x, y):
        out = self(x)
        loss = self.loss(out['prediction'], y)
        record = {'loss': loss, 'prediction': out['prediction'], 'n_samples': len(y)}
        return record

    def training_step(self, batch, batch_idx):
        x, y = batch
        record = self.step(x, y)
        self.train_records.append(
            {k: v.detach() if torch.is_tensor(v) else v for k, v in record.items()})
        return record

    def validation_step(self, batch, batch_idx):
        x, y = batch
        record = self.step(x, y)
        self.valid_records.append(record)
        return record

    def epoch_end(self, outputs):
        total = sum(o['loss'].item() * o['n_samples'] for o in outputs)
        width = torch.cat([o['prediction'][..., -1] - o['prediction'][..., 0] for o in outputs]).mean().item()
        count = sum(o['n_samples'] for o in outputs)
        outputs.clear()
        return total / count, width

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate)


class RecurrentForecaster(BaseModel):
    def __init__(self, horizon, hidden_size=64, n_quantiles=3, **kwargs):
        super().__init__(**kwargs)
        self.horizon = horizon
        self.encoder = nn.LSTM(1, hidden_size, num_layers=2, batch_first=True)
        self.output = nn.Linear(hidden_size, horizon * n_quantiles)

    def forward(self, x):
        _, (h, _) = self.encoder(x['encoder_target'].unsqueeze(-1))
        return {'prediction': self.output(h[-1]).view(len(h[-1]), self.horizon, -1)}


def fit(model, train_loader, val_loader, max_epochs):
    optimizer = model.configure_optimizers()
    for epoch in range(max_epochs):
        model.train()
        for batch_idx, batch in enumerate(train_loader):
            optimizer.zero_grad()
            model.training_step(batch, batch_idx)['loss'].backward()
            optimizer.step()
        train_loss, _ = model.epoch_end(model.train_records)
        model.eval()
        with torch.no_grad():
            for batch_idx, batch in enumerate(val_loader):
                model.validation_step(batch, batch_idx)
        val_loss, width = model.epoch_end(model.valid_records)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f'epoch {epoch}: train {train_loss:.4f} val {val_loss:.4f} interval {width:.3f} peak {peak} MB')


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--max-epochs', type=int, default=3)
    parser.add_argument('--batch-size', type=int, default=32)
    args = parser.parse_args()
    torch.manual_seed(0)
    train = SeriesDataset(2400, 48, 12)
    val = SeriesDataset(200, 48, 12, seed=1)
    model = RecurrentForecaster(horizon=12)
    fit(model, DataLoader(train, args.batch_size, shuffle=True), DataLoader(val, args.batch_size), args.max_epochs)
