import copy
import itertools
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)


def endless(loader):
    while True:
        for batch in loader:
            yield batch


def find_lr(model, loader, loss_fn, lo=1e-4, hi=1.0, steps=50):
    probe = copy.deepcopy(model)
    opt = torch.optim.SGD(probe.parameters(), lr=lo, momentum=0.9)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, (hi / lo) ** (1 / steps))
    rates, losses, smooth = [], [], None
    probe.train()
    for x, y in itertools.islice(endless(loader), steps):
        opt.zero_grad()
        loss = loss_fn(probe(x), y)
        if not math.isfinite(loss.item()):
            break
        loss.backward()
        opt.step()
        smooth = loss.item() if smooth is None else 0.8 * smooth + 0.2 * loss.item()
        rates.append(sched.get_last_lr()[0])
        losses.append(smooth)
        if smooth > 3 * min(losses):
            break
        sched.step()
    best = min(range(len(losses)), key=losses.__getitem__)
    return rates[best] / 10


class EarlyStopper:
    def __init__(self, patience):
        self.patience, self.count = patience, 0
        self.best, self.state = math.inf, None

    def update(self, value, model):
        if value < self.best:
            self.best, self.count = value, 0
            self.state = {k: v.detach().clone() for k, v in model.state_dict().items()}
        else:
            self.count += 1
        return self.count >= self.patience


@torch.no_grad()
def mean_loss(model, loader, loss_fn):
    was = model.training
    model.eval()
    total = sum(loss_fn(model(x), y).item() * len(x) for x, y in loader)
    model.train(was)
    return total / len(loader.dataset)


x = torch.rand(450, 5) * 4 - 2
y = (x[:, 0] * x[:, 1]).sin() + 0.5 * x[:, 2] ** 2 + 0.1 * torch.randn(450)
data = TensorDataset(x, y.unsqueeze(1))
train_set, val_set, test_set = random_split(data, [0.7, 0.15, 0.15])
train_loader = DataLoader(train_set, 32, shuffle=True)
val_loader, test_loader = DataLoader(val_set, 32), DataLoader(test_set, 32)

model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Dropout(0.05), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
loss_fn = nn.MSELoss()
lr = find_lr(model, train_loader, loss_fn)
print(f"rate {lr:.4f}")

optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=1)
stopper = EarlyStopper(4)
curves = {"train": [], "val": []}
for epoch in range(15):
    running = 0.0
    for xb, yb in train_loader:
        loss = loss_fn(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * len(xb)
    curves["train"].append(running / len(train_set))
    curves["val"].append(mean_loss(model, val_loader, loss_fn))
    plateau.step(curves["val"][-1])
    print(f"epoch {epoch:2d} train {curves['train'][-1]:.4f} val {curves['val'][-1]:.4f} lr {optimizer.param_groups[0]['lr']:.1e}")
    if stopper.update(curves["val"][-1], model):
        print("no better for", stopper.patience, "epochs")
        break

model.load_state_dict(stopper.state)
print("test", round(mean_loss(model, test_loader, loss_fn), 4), "best val", round(stopper.best, 4))

try:
    import matplotlib.pyplot as plt
    plt.plot(curves["train"], label="train")
    plt.plot(curves["val"], label="val")
    plt.legend()
    plt.savefig("curves.png")
except ImportError:
    pass
