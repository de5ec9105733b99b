"""N-BEATS (generic) for monthly retail sales. Config at the top, utils below, main at the end."""
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CFG = {
    "backcast": 36,
    "horizon": 6,
    "n_blocks": 6,
    "hidden": 64,
    "layers": 3,
    "theta": 16,
    "lr": 1e-3,
    "epochs": 5,
    "batch_size": 64,
    "seed": 123,
}


# ----------------------------- data -----------------------------
def sales_frame(n_stores=12, n_months=144):
    rng = np.random.default_rng(CFG["seed"])
    idx = pd.date_range("2012-01-01", periods=n_months, freq="MS")
    t = np.arange(n_months)
    cols = {}
    for s in range(n_stores):
        season = 20 * np.sin(2 * np.pi * (t + rng.integers(12)) / 12)
        trend = rng.uniform(-0.2, 0.5) * t
        cols[f"store_{s}"] = 200 + season + trend + rng.normal(0, 4, n_months)
    return pd.DataFrame(cols, index=idx)


def windows(df, mean, std):
    L, H = CFG["backcast"], CFG["horizon"]
    xs, ys = [], []
    for col in df.columns:
        v = ((df[col] - mean[col]) / std[col]).to_numpy(dtype=np.float32)
        for i in range(len(v) - L - H + 1):
            xs.append(v[i:i + L])
            ys.append(v[i + L:i + L + H])
    return torch.from_numpy(np.stack(xs)), torch.from_numpy(np.stack(ys))


# ----------------------------- model -----------------------------
class Block(nn.Module):
    def __init__(self, backcast, horizon, hidden, layers, theta):
        super().__init__()
        fc = [nn.Linear(backcast, hidden), nn.ReLU()]
        for _ in range(layers - 1):
            fc += [nn.Linear(hidden, hidden), nn.ReLU()]
        self.fc = nn.Sequential(*fc)
        self.theta_b = nn.Linear(hidden, theta, bias=False)
        self.theta_f = nn.Linear(hidden, theta, bias=False)
        self.backcast = nn.Linear(theta, backcast)
        self.forecast = nn.Linear(theta, horizon)

    def forward(self, x):
        h = self.fc(x)
        return self.backcast(self.theta_b(h)), self.forecast(self.theta_f(h))


class NBeats(nn.Module):
    """Generic architecture: a doubly residual stack of fully connected blocks."""

    def __init__(self, cfg):
        super().__init__()
        self.blocks = nn.ModuleList([
            Block(cfg["backcast"], cfg["horizon"], cfg["hidden"], cfg["layers"], cfg["theta"])
            for _ in range(cfg["n_blocks"])
        ])

    def forward(self, x):
        forecast = 0
        for block in self.blocks:
            b, f = block(x)
            x = x - b
            forecast = forecast + f
        return forecast


# ----------------------------- utils -----------------------------
def count_parameters(m):
    return sum(p.numel() for p in m.parameters() if p.requires_grad)


@torch.no_grad()
def mae(model, x, y):
    model.eval()
    return (model(x) - y).abs().mean().item()


def main():
    torch.manual_seed(CFG["seed"])
    df = sales_frame()
    train_df, test_df = df.iloc[:96], df.iloc[96:]
    mean, std = train_df.mean(), train_df.std()
    x_tr, y_tr = windows(train_df, mean, std)
    x_te, y_te = windows(test_df, mean, std)
    loader = DataLoader(TensorDataset(x_tr, y_tr), batch_size=CFG["batch_size"], shuffle=True)

    model = NBeats(CFG)
    print(f"{len(model.blocks)} blocks, {count_parameters(model):,} parameters")
    opt = torch.optim.Adam(model.parameters(), lr=CFG["lr"])
    loss_fn = nn.SmoothL1Loss()
    for epoch in range(CFG["epochs"]):
        model.train()
        total = 0.0
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += loss.item() * xb.size(0)
        print(f"epoch {epoch} train {total / len(x_tr):.4f} test MAE {mae(model, x_te, y_te):.4f}")


if __name__ == "__main__":
    main()
