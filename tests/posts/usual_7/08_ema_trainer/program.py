import copy
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ModelEMA:
    """Keeps an exponential moving average of everything in the model's state_dict."""

    def __init__(self, model: nn.Module, decay: float = 0.995):
        self.decay = decay
        self.module = copy.deepcopy(model).eval()
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model: nn.Module):
        source = model.state_dict()
        for name, avg in self.module.state_dict().items():
            avg.mul_(self.decay).add_(source[name], alpha=1.0 - self.decay)


class ResidualMLP(nn.Module):
    def __init__(self, d_in, d=96, depth=3, n_out=4, norm="layer"):
        super().__init__()
        make_norm = {"layer": nn.LayerNorm, "batch": nn.BatchNorm1d}[norm]
        self.stem = nn.Linear(d_in, d)
        self.blocks = nn.ModuleList(
            nn.Sequential(make_norm(d), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d)) for _ in range(depth)
        )
        self.head = nn.Linear(d, n_out)

    def forward(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = x + b(x)
        return self.head(x)


class Trainer:
    def __init__(self, model, config):
        self.model = model
        self.cfg = config
        self.ema = ModelEMA(model, config["ema_decay"]) if config["use_ema"] else None
        self.opt = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9, nesterov=True)
        total = config["epochs"] * config["steps_per_epoch"]
        self.sched = torch.optim.lr_scheduler.LambdaLR(
            self.opt, lambda s: 0.5 * (1 + math.cos(math.pi * min(s / total, 1.0)))
        )
        self.loss_fn = nn.CrossEntropyLoss(label_smoothing=config["smoothing"])

    def train_epoch(self, loader):
        self.model.train()
        running = 0.0
        for x, y in loader:
            loss = self.loss_fn(self.model(x), y)
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()
            self.sched.step()
            if self.ema is not None:
                self.ema.update(self.model)
            running += loss.item()
        return running / len(loader)

    @torch.no_grad()
    def accuracy(self, loader):
        net = self.ema.module if self.ema is not None else self.model
        net.eval()
        hits = sum((net(x).argmax(1) == y).sum().item() for x, y in loader)
        return hits / len(loader.dataset)


def spirals(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    r = torch.rand(n, generator=g) * 2 + 0.3
    a = r * 1.5 + y * math.pi / 2 + 0.12 * torch.randn(n, generator=g)
    xy = torch.stack([r * a.cos(), r * a.sin()], 1)
    return TensorDataset(torch.cat([xy, xy ** 2, xy.prod(1, keepdim=True)], 1), y)


CONFIG = dict(epochs=4, batch_size=64, lr=0.02, smoothing=0.05, use_ema=True, ema_decay=0.97, norm="batch")

torch.manual_seed(0)
train_loader = DataLoader(spirals(2560, 0), batch_size=CONFIG["batch_size"], shuffle=True)
test_loader = DataLoader(spirals(600, 1), batch_size=200)
CONFIG["steps_per_epoch"] = len(train_loader)
trainer = Trainer(ResidualMLP(5, norm=CONFIG["norm"]), CONFIG)
for epoch in range(CONFIG["epochs"]):
    loss = trainer.train_epoch(train_loader)
    print(f"{epoch}: loss {loss:.3f}  acc {trainer.accuracy(test_loader):.3f}")
