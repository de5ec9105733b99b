# line 36: the SGD step of the second optimizer is taken directly on gradients of a scaled loss (static scale of the GradScaler)
import numpy as np
import torch
from torch import nn


def two_towers(width=8):
    user = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, width))
    item = nn.Sequential(nn.Linear(9, 16), nn.ReLU(), nn.Linear(16, width))
    return user, item


def clicks(n, rng):
    u = rng.normal(size=(n, 6)).astype(np.float32)
    i = rng.normal(size=(n, 9)).astype(np.float32)
    y = (u[:, 0] * i[:, 0] + u[:, 1] * i[:, 1] > 0).astype(np.float32)
    return torch.from_numpy(u), torch.from_numpy(i), torch.from_numpy(y)


torch.manual_seed(0)
rng = np.random.default_rng(0)
user, item = two_towers()
opt_user = torch.optim.SGD(user.parameters(), lr=0.05)
opt_item = torch.optim.SGD(item.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
loss_fn = nn.BCEWithLogitsLoss()


def train_step(u, i, y):
    for opt in (opt_user, opt_item):
        opt.zero_grad()
    score = (user(u) * item(i)).sum(dim=1)
    loss = loss_fn(score, y)
    scaler.scale(loss).backward()
    scaler.step(opt_user)
    opt_item.step()
    scaler.update()
    return loss.item()


history = [train_step(*clicks(64, rng)) for _ in range(150)]
print("start", np.mean(history[:10]), "end", np.mean(history[-10:]))
user.eval(), item.eval()
with torch.no_grad():
    u, i, y = clicks(300, rng)
    guess = ((user(u) * item(i)).sum(dim=1) > 0).float()
    print("accuracy", (guess == y).float().mean().item())
