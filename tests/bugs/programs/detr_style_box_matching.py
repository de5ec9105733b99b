import torch
from torch import nn
import torch.nn.functional as F


def to_corners(b):
    cx, cy, w, h = b.unbind(-1)
    return torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], dim=-1)


def iou_table(a, b):
    area_a = (a[:, 2:] - a[:, :2]).prod(dim=1)
    area_b = (b[:, 2:] - b[:, :2]).prod(dim=1)
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(dim=2)
    return inter / (area_a[:, None] + area_b - inter + 1e-6)


class Model(nn.Module):
    def __init__(self, n_query=6, n_class=4, dim=16):
        super().__init__()
        self.query = nn.Embedding(n_query, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.cls = nn.Linear(dim, n_class + 1)
        self.box = nn.Linear(dim, 4)

    @torch.no_grad()
    def match(self, logits, boxes, labels, targets, sizes):
        bs, nq = logits.shape[:2]
        prob = logits.flatten(0, 1).softmax(-1)
        flat = boxes.flatten(0, 1)
        cost = torch.cdist(flat, targets, p=1) - prob[:, labels]
        cost = cost - iou_table(to_corners(flat), to_corners(targets))
        cost = cost.view(bs, nq, -1)
        return [c[i].argmin(dim=0) for i, c in enumerate(cost.split(sizes, -1))]

    def forward(self, memory, labels, targets, sizes):
        bs = memory.size(0)
        q = self.query.weight.unsqueeze(0).expand(bs, -1, -1)
        h, _ = self.attn(q, memory, memory)
        logits, boxes = self.cls(h), self.box(h).sigmoid()
        idx = self.match(logits, boxes, labels, targets, sizes)
        rows = torch.cat([torch.full_like(i, b) for b, i in enumerate(idx)])
        cols = torch.cat(idx)
        loss = F.l1_loss(boxes[rows, cols], targets)
        return logits, loss, cols


def example_inputs():
    targets = torch.rand(7, 4) * 0.5 + 0.25
    labels = torch.tensor([0, 3, 1, 2, 2, 0, 1])
    return torch.randn(2, 20, 16), labels, targets, [3, 4]
