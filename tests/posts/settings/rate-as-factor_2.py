# line 17: the table of rates per epoch is given to LambdaLR as if its values were factors
import numpy as np
import torch
from torch import nn

SCHEDULE = {0: 0.05, 3: 0.02, 5: 0.005}
torch.manual_seed(75)


def rate_at(epoch):
    passed = [start for start in SCHEDULE if start <= epoch]
    return SCHEDULE[max(passed)]


def configure(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=SCHEDULE[0], momentum=0.9)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, rate_at)


class Wine(nn.Module):
    def __init__(self):
        super().__init__()
        self.stack = nn.Sequential(nn.Linear(8, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 3))

    def forward(self, x):
        return self.stack(x)


rng = np.random.default_rng(75)
centres = rng.normal(size=(3, 8))
grade = rng.integers(0, 3, 330)
x = torch.tensor(centres[grade] + 0.7 * rng.normal(size=(330, 8)), dtype=torch.float32)
grade = torch.from_numpy(grade)
model = Wine()
optimizer, scheduler = configure(model)
for epoch in range(7):
    model.train()
    for rows in torch.randperm(270).split(27):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), grade[rows]).backward()
        optimizer.step()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        right = (model(x[270:]).argmax(1) == grade[270:]).sum().item()
    print(epoch, right / 60)
