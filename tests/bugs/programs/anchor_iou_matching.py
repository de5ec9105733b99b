import torch
import torch.nn as nn
import torch.nn.functional as F


def box_iou(a, b):
    lt = torch.maximum(a[:, None, :2], b[None, :, :2])
    rb = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area = lambda x: (x[:, 2:] - x[:, :2]).prod(-1)
    return inter / (area(a)[:, None] + area(b) - inter + 1e-6)


class Model(nn.Module):
    def __init__(self, size=4, stride=8, classes=3):
        super().__init__()
        self.head = nn.Conv2d(5, 2 * (4 + classes), 1)
        self.classes = classes
        centre = (torch.arange(size) + 0.5) * stride
        grid = torch.stack(torch.meshgrid(centre, centre, indexing="xy"), -1)
        sides = torch.tensor([[8.0, 16.0], [14.0, 10.0]])
        lo, hi = grid[..., None, :] - sides / 2, grid[..., None, :] + sides / 2
        self.register_buffer("anchors", torch.cat([lo, hi], -1).view(-1, 4))

    def forward(self, feats, boxes, labels):
        B, _, H, W = feats.shape
        out = self.head(feats).view(B, 2, -1, H, W).permute(0, 3, 4, 1, 2).flatten(1, 3)
        reg, cls = out.split([4, self.classes], dim=-1)
        loss = []
        for i in range(B):
            iou = box_iou(self.anchors, boxes[i])
            best, match = iou.max(dim=1)
            forced = iou.argmax(dim=0)
            match[forced] = torch.arange(len(forced), device=match.device)
            best[forced] = 1.0
            keep = best > 0.3
            target = boxes[i][match[keep]] - self.anchors[keep]
            box = F.smooth_l1_loss(reg[i, keep], target / 8)
            loss.append(box + F.cross_entropy(cls[i][keep], labels[i, match[keep]]))
        return torch.stack(loss), reg + self.anchors


def example_inputs():
    lo = torch.rand(2, 3, 2) * 16
    boxes = torch.cat([lo, lo + 4 + torch.rand(2, 3, 2) * 10], dim=-1)
    return torch.randn(2, 5, 4, 4), boxes, torch.randint(0, 3, (2, 3))
