# line 14: the focal factor is computed from the mean cross entropy of all pixels, so it is one number
import torch
import torch.nn as nn
import torch.nn.functional as F


class FocalSegLoss(nn.Module):
    def __init__(self, gamma=2.0, class_weight=None):
        super().__init__()
        self.gamma = gamma
        self.register_buffer("class_weight", class_weight)

    def forward(self, score_map, truth):
        ce = F.cross_entropy(score_map, truth, weight=self.class_weight, reduction="none")
        hardness = torch.pow(1.0 - torch.exp(-ce), self.gamma)
        return torch.mean(hardness * ce)


class MiniUNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.last = nn.Conv2d(9, classes, 1)

    def forward(self, x):
        return self.last(torch.cat([torch.relu(self.up(self.down(x))), x], dim=1))


def scans(n):
    truth = torch.zeros(n, 24, 24, dtype=torch.long)
    for i in range(n):
        r, c = torch.randint(0, 16, (2,)).tolist()
        truth[i, r : r + 6, c : c + 6] = 1
        truth[i, r + 2 : r + 4, c + 2 : c + 4] = 2
    return truth.unsqueeze(1) * 0.6 + 0.3 * torch.randn(n, 1, 24, 24), truth


torch.manual_seed(2)
image, truth = scans(120)
unet, criterion = MiniUNet(), FocalSegLoss()
opt = torch.optim.Adam(unet.parameters(), lr=4e-3)
for epoch in range(4):
    running = 0.0
    for rows in torch.randperm(120).split(20):
        loss = criterion(unet(image[rows]), truth[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() * len(rows)
    print("epoch", epoch, "focal", running / 120)
