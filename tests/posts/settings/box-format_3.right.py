# line 19: the anchors are kept as centre and size and go to box_iou as if they were corners
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.ops import box_convert, box_iou


def make_anchors(grid=6, sizes=(0.2, 0.35)):
    centre = (torch.arange(grid) + 0.5) / grid
    cy, cx = torch.meshgrid(centre, centre, indexing="ij")
    per_size = [torch.stack([cx, cy, torch.full_like(cx, s), torch.full_like(cx, s)], -1) for s in sizes]
    return torch.stack(per_size, dim=2).view(-1, 4)


ANCHORS = make_anchors()


def assign(truth, threshold=0.3):
    overlap = box_iou(box_convert(ANCHORS, "cxcywh", "xyxy"), truth)
    best, which = overlap.max(dim=1)
    best[overlap.argmax(0)] = 1.0
    return best > threshold, which


class OneShot(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU()
        )
        self.head = nn.Conv2d(16, 2, 3, padding=1)

    def forward(self, image):
        return self.head(self.body(image)).permute(0, 2, 3, 1).flatten(1)


def scene():
    side = 0.2 + 0.15 * torch.rand(1)
    cx, cy = side / 2 + (1 - side) * torch.rand(2, 1)
    box = torch.cat([cx - side / 2, cy - side / 2, cx + side / 2, cy + side / 2])
    image = 0.1 * torch.randn(1, 24, 24)
    x1, y1, x2, y2 = (box * 24).round().long().tolist()
    image[:, y1:y2, x1:x2] += 1
    return image, box[None]


torch.manual_seed(0)
net = OneShot()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(50):
    images, boxes = zip(*[scene() for _ in range(8)])
    goal = torch.stack([assign(b)[0] for b in boxes]).float()
    opt.zero_grad()
    F.binary_cross_entropy_with_logits(net(torch.stack(images)), goal).backward()
    opt.step()

net.eval()
found, n = 0.0, 50
with torch.no_grad():
    for _ in range(n):
        image, box = scene()
        chosen = ANCHORS[net(image[None])[0].argmax()]
        found += box_iou(box_convert(chosen[None], "cxcywh", "xyxy"), box).item()
print("mean overlap of the best anchor", found / n)
