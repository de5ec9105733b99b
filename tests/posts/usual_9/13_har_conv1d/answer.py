from pathlib import Path
import numpy as np
import torch
import torch.nn as nn

ACTIVITIES = ["walking", "sitting", "standing", "stairs_up", "stairs_down"]
WINDOW, STEP, CHANNELS = 128, 64, 6      # 50 Hz, acc_xyz + gyro_xyz


def simulate(path: Path):
    """One recording per activity as the phone app stores it: t, 6 channels, activity."""
    rng = np.random.default_rng(2)
    rows = []
    for k, _ in enumerate(ACTIVITIES):
        t = np.arange(3200) / 50
        base = np.stack([np.sin(2 * np.pi * (0.5 + 0.6 * k) * t + p) * (0.3 + 0.2 * k) for p in range(CHANNELS)], 1)
        sig = base + rng.normal(0, 0.3, base.shape)
        rows.append(np.column_stack([t, sig, np.full(len(t), k)]))
    np.savetxt(path, np.concatenate(rows), fmt="%.5f", delimiter=",")


def load_windows(path: Path):
    raw = np.loadtxt(path, delimiter=",", dtype=np.float32)
    xs, ys = [], []
    for k in range(len(ACTIVITIES)):
        rec = raw[raw[:, -1] == k][:, 1:-1]
        for s in range(0, len(rec) - WINDOW + 1, STEP):
            xs.append(rec[s:s + WINDOW])
            ys.append(k)
    return np.stack(xs), np.array(ys)


class HARNet(nn.Module):
    def __init__(self, n_channels=CHANNELS, n_classes=len(ACTIVITIES)):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(n_channels, 32, 7, padding=3), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(32, 64, 5, padding=2), nn.BatchNorm1d(64), nn.ReLU(), nn.MaxPool1d(2),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(),
            nn.Dropout(0.3), nn.Linear(64, n_classes),
        )

    def forward(self, x):
        return self.net(x)


def batches(x, y, size, generator=None):
    order = torch.randperm(len(x), generator=generator) if generator is not None else torch.arange(len(x))
    for part in order.split(size):
        yield x[part], y[part]


def main():
    csv = Path("phone_log.csv")
    simulate(csv)
    x, y = load_windows(csv)
    print("windows:", x.shape, "labels:", np.bincount(y))

    # first 70 % of the windows of each activity for training, one window left out at the border
    train, test = [], []
    for k in range(len(ACTIVITIES)):
        where = np.flatnonzero(y == k)
        cut = int(0.7 * len(where))
        train.extend(where[:cut])
        test.extend(where[cut + 1:])
    mu, sd = x[train].mean((0, 1)), x[train].std((0, 1))
    x = torch.from_numpy((x - mu) / sd).transpose(1, 2)
    y = torch.from_numpy(y)
    x_train, y_train, x_test, y_test = x[train], y[train], x[test], y[test]

    torch.manual_seed(2)
    gen = torch.Generator().manual_seed(2)
    model = HARNet()
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    ce = nn.CrossEntropyLoss()
    for epoch in range(15):
        model.train()
        for xb, yb in batches(x_train, y_train, 32, gen):
            opt.zero_grad()
            ce(model(xb), yb).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            acc = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in batches(x_test, y_test, 64)) / len(y_test)
        print(f"epoch {epoch} test acc {acc:.3f}")


main()
