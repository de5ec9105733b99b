# line 16: pixels labelled -1, which the loss ignores, are counted by np.add.at in the row of the last class
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

UNLABELLED = -1


class ConfusionTable:
    def __init__(self, n):
        self.table = np.zeros((n, n), dtype=np.int64)

    def add(self, truth, guess):
        truth, guess = truth.numpy().ravel(), guess.numpy().ravel()
        known = truth != UNLABELLED
        truth, guess = truth[known], guess[known]
        np.add.at(self.table, (truth, guess), 1)

    def mean_iou(self):
        hit = np.diag(self.table)
        union = self.table.sum(0) + self.table.sum(1) - hit
        return (hit / np.maximum(union, 1)).mean()


class FieldNet(nn.Module):
    def __init__(self, bands=4, crops=3):
        super().__init__()
        self.a, self.b = nn.Conv2d(bands, 16, 3, padding=1), nn.Conv2d(16, crops, 1)

    def forward(self, tile):
        return self.b(F.relu(self.a(tile)))


def tiles(n, side=12):
    crop = torch.randint(0, 3, (n, 3, 3)).repeat_interleave(4, 1).repeat_interleave(4, 2)
    signature = torch.tensor([[0.2, 0.8, 0.5, 0.1], [0.6, 0.4, 0.1, 0.9], [0.9, 0.1, 0.7, 0.5]])
    tile = signature[crop].permute(0, 3, 1, 2) + 0.2 * torch.randn(n, 4, side, side)
    truth = crop.clone()
    truth[torch.rand(truth.shape) < 0.3] = UNLABELLED
    return tile, truth


torch.manual_seed(0)
net = FieldNet()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
tile, truth = tiles(160)
for epoch in range(4):
    net.train()
    for rows in torch.randperm(len(tile)).split(16):
        optimizer.zero_grad()
        F.cross_entropy(net(tile[rows]), truth[rows], ignore_index=UNLABELLED).backward()
        optimizer.step()

net.eval()
table = ConfusionTable(3)
with torch.no_grad():
    for x, y in zip(*(t.split(20) for t in tiles(60))):
        table.add(y, net(x).argmax(1))
print("mean IoU", table.mean_iou())
