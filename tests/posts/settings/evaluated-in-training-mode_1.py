# line 49: the best weights are loaded into a newly built model, which is in training mode while it predicts
import copy

import torch
from torch import nn


def create(cfg):
    return nn.Sequential(
        nn.Linear(cfg["inputs"], cfg["width"]), nn.BatchNorm1d(cfg["width"]), nn.ReLU(),
        nn.Dropout(cfg["drop"]), nn.Linear(cfg["width"], cfg["classes"]),
    )


def accuracy(model, loader):
    hits, n = 0, 0
    with torch.inference_mode():
        for x, y in loader:
            hits += (model(x).argmax(-1) == y).sum().item()
            n += y.numel()
    return hits / n


def train(cfg, loader, valid):
    model = create(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    best, best_state = 0.0, copy.deepcopy(model.state_dict())
    for _ in range(cfg["epochs"]):
        model.train()
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        model.eval()
        score = accuracy(model, valid)
        if score > best:
            best, best_state = score, copy.deepcopy(model.state_dict())
    return best_state


cfg = {"inputs": 10, "width": 32, "drop": 0.4, "classes": 3, "lr": 0.01, "epochs": 4}
torch.manual_seed(52)
x = torch.randn(300, 10)
y = (x[:, :3] + 0.5 * x[:, 3:6]).argmax(1)
cut = lambda a, b, s: torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x[a:b], y[a:b]), 30, shuffle=s)
state = train(cfg, cut(0, 210, True), cut(210, 240, False))
final = create(cfg)
final.load_state_dict(state)
print("test accuracy:", accuracy(final, cut(240, 300, False)))
