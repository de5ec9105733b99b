# line 53: the evaluation's IoU (own function for corners) gets centre-size boxes of the detector
import torch
from torch import nn


def to_corners(b):
    c, s = b[..., :2], b[..., 2:]
    return torch.cat([c - s / 2, c + s / 2], dim=-1)


def iou_matrix(a, b):
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    area = lambda q: (q[:, 2] - q[:, 0]) * (q[:, 3] - q[:, 1])
    return inter / (area(a)[:, None] + area(b)[None] - inter).clamp(min=1e-6)


class Locator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 4), nn.Sigmoid())

    def forward(self, img):
        return self.net(img)


def squares(n):
    size = torch.rand(n, 2) * 0.3 + 0.2
    centre = size / 2 + torch.rand(n, 2) * (1 - size)
    cxcywh = torch.cat([centre, size], 1)
    x1, y1, x2, y2 = (to_corners(cxcywh) * 16).unbind(1)
    g = torch.arange(16) + 0.5
    col = (g > x1[:, None]) & (g < x2[:, None])
    row = (g > y1[:, None]) & (g < y2[:, None])
    return (row[:, :, None] & col[:, None]).float(), cxcywh


torch.manual_seed(0)
net = Locator()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for it in range(150):
    img, boxes = squares(32)
    guess = net(img)
    loss = (to_corners(guess) - to_corners(boxes)).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    img, boxes = squares(100)
    print("mean IoU", iou_matrix(net(img), boxes).diagonal().mean().item())
