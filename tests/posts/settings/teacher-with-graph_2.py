# line 29: both branches of the siamese loss carry a graph because the projection is not detached
import torch
import torch.nn as nn
import torch.nn.functional as F


def augment(rows, strength=0.3):
    keep = (torch.rand_like(rows) > 0.2).float()
    return rows * keep + strength * torch.randn_like(rows)


def mlp(sizes, norm=True):
    parts = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        parts.append(nn.Linear(a, b))
        if norm:
            parts.append(nn.BatchNorm1d(b))
        parts.append(nn.ReLU())
    return nn.Sequential(*parts[:-1])


class Siamese(nn.Module):
    def __init__(self, inputs, dim=32):
        super().__init__()
        self.encoder = mlp([inputs, 64, dim])
        self.predictor = mlp([dim, 16, dim], norm=False)

    def agreement(self, guess, projection):
        return -F.cosine_similarity(guess, projection, dim=-1).mean()

    def forward(self, left, right):
        zl, zr = self.encoder(left), self.encoder(right)
        pl, pr = self.predictor(zl), self.predictor(zr)
        return 0.5 * (self.agreement(pl, zr) + self.agreement(pr, zl))


torch.manual_seed(33)
centres = torch.randn(6, 20) * 2
table = centres[torch.randint(6, (384,))] + torch.randn(384, 20)
net = Siamese(20)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(5):
    total = 0.0
    for rows in torch.randperm(384).split(64):
        batch = table[rows]
        loss = net(augment(batch), augment(batch))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(rows)
    print(epoch, total / 384)
