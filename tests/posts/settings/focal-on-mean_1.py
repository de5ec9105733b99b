# line 16: the focal factor is computed from nn.BCEWithLogitsLoss(), which is already the mean over all anchors
import torch
from torch import nn


class FocalLoss(nn.Module):
    def __init__(self, alpha=0.25, gamma=2.0):
        super().__init__()
        self.alpha = alpha
        self.gamma = gamma
        self.base = nn.BCEWithLogitsLoss()

    def forward(self, inputs, targets):
        bce = self.base(inputs, targets)
        p = torch.exp(-bce)
        return self.alpha * (1.0 - p).pow(self.gamma) * bce


class AnchorHead(nn.Module):
    def __init__(self, anchors=3):
        super().__init__()
        self.tower = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.obj = nn.Conv2d(16, anchors, 1)
        nn.init.constant_(self.obj.bias, -4.6)

    def forward(self, img):
        return self.obj(self.tower(img))


def scenes(n):
    img = torch.randn(n, 3, 32, 32) * 0.2
    y = torch.zeros(n, 3, 8, 8)
    for k in range(n):
        r, c, a = torch.randint(8, (1,)).item(), torch.randint(8, (1,)).item(), k % 3
        y[k, a, r, c] = 1
        img[k, a, 4 * r:4 * r + 4, 4 * c:4 * c + 4] += 1
    return img, y


torch.manual_seed(0)
det = AnchorHead()
focal = FocalLoss()
optimizer = torch.optim.SGD(det.parameters(), lr=0.05, momentum=0.9)
for it in range(30):
    img, y = scenes(8)
    loss = focal(det(img), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(it, loss.item())
