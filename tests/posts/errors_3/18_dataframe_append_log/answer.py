import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(500, 16)
y = (x[:, 0] * x[:, 1] > 0).long()
train_set, val_set = random_split(TensorDataset(x, y), [400, 100])
train_dl = DataLoader(train_set, batch_size=50, shuffle=True)
val_dl = DataLoader(val_set, batch_size=100)


def run_epoch(model, dl, opt=None):
    total, correct, n = 0.0, 0, 0
    with torch.set_grad_enabled(opt is not None):
        for xb, yb in dl:
            out = model(xb)
            loss = nn.functional.cross_entropy(out, yb)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            total += loss.item() * len(xb)
            correct += (out.argmax(1) == yb).sum().item()
            n += len(xb)
    return total / n, correct / n


history = pd.DataFrame([{"lr": 0.0, "epoch": -1, "train_loss": float("nan"), "val_acc": 0.0}])
for lr in (1e-3, 1e-2):
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2))
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(4):
        train_loss, _ = run_epoch(model, train_dl, opt)
        _, val_acc = run_epoch(model, val_dl)
        row = {"lr": lr, "epoch": epoch, "train_loss": train_loss, "val_acc": val_acc}
        history = pd.concat([history, pd.DataFrame([row])], ignore_index=True)

print(history.groupby("lr")["val_acc"].max())
