import math
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=500):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)

    def forward(self, x):
        x = x + self.pe[:, :x.size(1)]
        return self.dropout(x)


class SeriesTransformer(nn.Module):
    """Forecasts the next `horizon` values from a window."""

    def __init__(self, n_vars, d_model=32, nhead=4, layers=2, horizon=8):
        super().__init__()
        self.proj = nn.Linear(n_vars, d_model)
        self.pos = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, 64, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(d_model, horizon)

    def forward(self, x):
        z = self.encoder(self.pos(self.proj(x)))
        return self.head(z[:, -1])


def make_windows(n, window=48, horizon=8):
    t0 = torch.rand(n, 1) * 100
    t = t0 + torch.arange(window + horizon) * 0.2
    series = torch.sin(t) + 0.5 * torch.sin(2.7 * t) + 0.05 * torch.randn(n, window + horizon)
    aux = torch.cos(t)
    x = torch.stack([series[:, :window], aux[:, :window]], dim=-1)
    return TensorDataset(x, series[:, window:])


def evaluate(model, loader):
    model.eval()
    err, n = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            pred = model(x.to(device)).cpu()
            err += (pred - y).abs().sum().item()
            n += y.numel()
    return err / n


def main():
    train_dl = DataLoader(make_windows(400), batch_size=50, shuffle=True)
    test_dl = DataLoader(make_windows(100), batch_size=50)
    model = SeriesTransformer(n_vars=2).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.MSELoss()
    for epoch in range(3):
        model.train()
        for x, y in train_dl:
            x, y = x.to(device), y.to(device)
            loss = loss_fn(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, 'train', round(loss.item(), 4), 'test mae', round(evaluate(model, test_dl), 4))


if __name__ == '__main__':
    main()
