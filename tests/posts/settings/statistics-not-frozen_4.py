# line 39: the frozen perceptual network is left in training mode: its batch norms take in the statistics of the restored images
import torch
import torch.nn.functional as F
from torch import nn


class PerceptualNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.block2 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU())
        self.head = nn.Linear(16, 2)

    def features(self, x):
        low = self.block1(x)
        return [low, self.block2(low)]

    def forward(self, x):
        return self.head(self.features(x)[-1].mean((2, 3)))


def shapes(n):
    kind = torch.randint(2, (n,))
    image = torch.zeros(n, 1, 14, 14)
    image[kind == 0, :, 3:11, 3:11] = 1.0
    image[kind == 1, :, :, 6:8] = 1.0
    return image, kind


torch.manual_seed(28)
image, kind = shapes(240)
judge = PerceptualNet()
opt = torch.optim.Adam(judge.parameters(), lr=3e-3)
for rows in torch.randperm(240).split(24):
    opt.zero_grad()
    F.cross_entropy(judge(image[rows]), kind[rows]).backward()
    opt.step()

judge.requires_grad_(False)
restorer = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1))
opt = torch.optim.Adam(restorer.parameters(), lr=3e-3)
for epoch in range(4):
    total = 0.0
    for rows in torch.randperm(240).split(24):
        clean = image[rows]
        restored = restorer(clean + 0.6 * torch.randn_like(clean))
        pairs = zip(judge.features(restored), judge.features(clean))
        loss = F.l1_loss(restored, clean) + 0.1 * sum(F.mse_loss(a, b) for a, b in pairs)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(rows)
    print("epoch", epoch, "loss", total / len(image))
