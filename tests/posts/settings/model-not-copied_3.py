# line 20: copy.copy of the network shares all parameters, so the target encoder is the online encoder
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU()]
    return nn.Sequential(*layers[:-2])


class BYOL(nn.Module):
    def __init__(self, inputs=24, dim=16, momentum=0.97):
        super().__init__()
        self.online = mlp([inputs, 48, dim])
        self.target = copy.copy(self.online)
        self.predictor = mlp([dim, 32, dim])
        self.momentum = momentum

    def trained(self):
        return [*self.online.parameters(), *self.predictor.parameters()]

    def half(self, a, b):
        with torch.no_grad():
            goal = F.normalize(self.target(b), dim=1)
        return 2 - 2 * (F.normalize(self.predictor(self.online(a)), dim=1) * goal).sum(1).mean()

    def forward(self, a, b):
        return self.half(a, b) + self.half(b, a)

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.target.parameters(), self.online.parameters()):
            slow.copy_(self.momentum * slow + (1 - self.momentum) * fast)


def distort(x):
    return x * (torch.rand_like(x) > 0.2) + 0.2 * torch.randn_like(x)


torch.manual_seed(0)
group = torch.randint(0, 4, (400,))
cells = torch.randn(4, 24)[group] + 0.4 * torch.randn(400, 24)
byol = BYOL()
optimizer = torch.optim.Adam(byol.trained(), lr=2e-3)
for epoch in range(8):
    byol.train()
    total = 0.0
    for rows in torch.randperm(400).split(50):
        loss = byol(distort(cells[rows]), distort(cells[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        byol.follow()
        total += loss.item() * len(rows)
    print(epoch, total / 400)

byol.eval()
with torch.no_grad():
    code = F.normalize(byol.online(cells), dim=1)
same = group[:, None] == group[None, :]
print("similarity within", (code @ code.t())[same].mean().item(), "between", (code @ code.t())[~same].mean().item())
