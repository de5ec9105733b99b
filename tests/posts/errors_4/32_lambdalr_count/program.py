import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(0)


class TwoTower(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.head = nn.Linear(dim, 4)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


model = TwoTower()
optimizer = torch.optim.AdamW([
    {"params": model.body.parameters(), "lr": 1e-4},
    {"params": model.head.parameters(), "lr": 1e-3},
])
warmup, total = 10, 60


def body_factor(step):
    return 0.0 if step < warmup else 1.0 - (step - warmup) / (total - warmup)


def head_factor(step):
    return min(1.0, (step + 1) / warmup)


scheduler = LambdaLR(optimizer, lr_lambda=[body_factor])
x = torch.randn(256, 20)
y = x[:, :4].argmax(dim=1)
for step in range(total):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(loss.item(), scheduler.get_last_lr())
