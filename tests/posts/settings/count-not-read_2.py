# line 38: the validation error sums into err_va, but the report divides err_tr, the sum of the training loop
import numpy as np
import torch
from torch import nn

rng = np.random.RandomState(5)
t = np.arange(600)
series = np.sin(t / 8) + 0.4 * np.sin(t / 3) + 0.1 * rng.randn(600)
windows = np.lib.stride_tricks.sliding_window_view(series, 17).astype(np.float32)
data = torch.from_numpy(windows.copy())
tr, va = data[:400], data[430:]

torch.manual_seed(5)
net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
best = float("inf")

for epoch in range(6):
    err_tr, n_tr = 0.0, 0
    err_va, n_va = 0.0, 0
    net.train()
    for rows in torch.randperm(len(tr)).split(40):
        x, y = tr[rows, :16], tr[rows, 16]
        diff = net(x).squeeze(1) - y
        opt.zero_grad()
        diff.pow(2).mean().backward()
        opt.step()
        err_tr += diff.detach().abs().sum().item()
        n_tr += len(rows)

    net.eval()
    for part in va.split(40):
        with torch.no_grad():
            diff = net(part[:, :16]).squeeze(1) - part[:, 16]
        err_va += diff.abs().sum().item()
        n_va += len(part)

    mae_va = err_tr / n_va
    if mae_va < best:
        best = mae_va
    print(f"epoch {epoch}: train MAE {err_tr / n_tr:.4f}, validation MAE {mae_va:.4f}, best {best:.4f}")
