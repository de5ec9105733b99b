import torch
import torch.nn as nn


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.heads = nn.ModuleDict({
            "age": nn.Linear(32, 1),
            "income": nn.Linear(32, 1),
            "owner": nn.Linear(32, 1),
        })

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h).squeeze(1) for name, head in self.heads.items()}


LOSSES = {"age": nn.L1Loss(), "income": nn.HuberLoss(), "owner": nn.BCEWithLogitsLoss()}
WEIGHTS = {"age": 1.0, "income": 0.5, "owner": 2.0}


def combined_loss(out, target, log):
    total = 0.0
    for name, fn in LOSSES.items():
        value = fn(out[name], target[name])
        log.setdefault(name, []).append(value.item())
        total += WEIGHTS[name] * value
    return total


torch.manual_seed(0)
x = torch.randn(64, 10)
target = {"age": x[:, 0] * 3, "income": x[:, 1].exp(), "owner": (x[:, 2] > 0).float()}
model, log = MultiTask(), {}
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(20):
    loss = combined_loss(model(x), target, log)
    opt.zero_grad()
    loss.backward()
    opt.step()
print({k: round(v[-1], 3) for k, v in log.items()})
