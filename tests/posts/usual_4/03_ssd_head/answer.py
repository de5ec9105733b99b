import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

N_CLASSES = 4            # 0 = background
GRID = 8
SCALES = [0.15, 0.3, 0.5]
NUM_ANCHORS = len(SCALES)


def make_anchors():
    c = (torch.arange(GRID) + 0.5) / GRID
    cy, cx = torch.meshgrid(c, c, indexing="ij")
    anchors = []
    for y, x in zip(cy.flatten().tolist(), cx.flatten().tolist()):
        for s in SCALES:
            anchors.append([x, y, s, s])
    return torch.tensor(anchors)                                  # (192, 4) cx cy w h


def to_corners(b):
    return torch.cat([b[..., :2] - b[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2], -1)


def iou(a, b):
    a, b = to_corners(a)[:, None], to_corners(b)[None]
    lt, rb = torch.max(a[..., :2], b[..., :2]), torch.min(a[..., 2:], b[..., 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area_a = (a[..., 2:] - a[..., :2]).prod(-1)
    area_b = (b[..., 2:] - b[..., :2]).prod(-1)
    return inter / (area_a + area_b - inter)


def encode(gt, anchors):
    return torch.cat([(gt[:, :2] - anchors[:, :2]) / anchors[:, 2:], torch.log(gt[:, 2:] / anchors[:, 2:])], 1)


def match(gt_boxes, gt_labels, anchors):
    m = iou(anchors, gt_boxes)
    best, idx = m.max(1)
    forced = m.argmax(0)
    idx[forced], best[forced] = torch.arange(len(gt_boxes)), 1.0
    labels = gt_labels[idx] * (best >= 0.4)
    return labels, encode(gt_boxes[idx], anchors)


class MiniSSD(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 3
        for out in (16, 32, 64):
            layers += [nn.Conv2d(c, out, 3, stride=2, padding=1), nn.BatchNorm2d(out), nn.ReLU(True)]
            c = out
        self.body = nn.Sequential(*layers)
        self.cls_head = nn.Conv2d(64, NUM_ANCHORS * N_CLASSES, 3, padding=1)
        self.box_head = nn.Conv2d(64, NUM_ANCHORS * 4, 3, padding=1)

    def forward(self, x):
        f = self.body(x)
        n = x.size(0)
        cls = self.cls_head(f).permute(0, 2, 3, 1).reshape(n, -1, N_CLASSES)
        box = self.box_head(f).permute(0, 2, 3, 1).reshape(n, -1, 4)
        return cls, box


class MultiBoxLoss(nn.Module):
    def __init__(self, neg_pos_ratio=3):
        super().__init__()
        self.ratio = neg_pos_ratio

    def forward(self, cls, box, labels, targets):
        pos = labels > 0
        n_pos = pos.sum(1)
        ce = F.cross_entropy(cls.reshape(-1, N_CLASSES), labels.reshape(-1), reduction="none").view_as(labels)
        neg = ce.detach().masked_fill(pos, -math.inf)
        rank = neg.argsort(1, descending=True).argsort(1)
        hard = rank < (self.ratio * n_pos)[:, None]
        loc = F.smooth_l1_loss(box[pos], targets[pos], reduction="sum")
        total = n_pos.sum().clamp(min=1)
        return ce[pos | hard].sum() / total, loc / total


def fake_sample():
    img = torch.rand(3, 64, 64) * 0.2
    k = int(torch.randint(1, 4, (1,)))
    boxes = torch.cat([torch.rand(k, 2) * 0.6 + 0.2, torch.rand(k, 2) * 0.3 + 0.1], 1)
    labels = torch.randint(1, N_CLASSES, (k,))
    for b, l in zip(to_corners(boxes).clamp(0, 1) * 64, labels):
        x0, y0, x1, y1 = b.round().int().tolist()
        img[l - 1, y0:y1, x0:x1] = 1.0
    return img, boxes, labels


anchors = make_anchors()
model, criterion = MiniSSD(), MultiBoxLoss()
opt = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
for it in range(20):
    samples = [fake_sample() for _ in range(8)]
    imgs = torch.stack([s[0] for s in samples])
    lab, tgt = zip(*[match(b, l, anchors) for _, b, l in samples])
    cls, box = model(imgs)
    l_cls, l_box = criterion(cls, box, torch.stack(lab), torch.stack(tgt))
    opt.zero_grad()
    (l_cls + l_box).backward()
    opt.step()
    if it % 5 == 0:
        print("iter %d  cls %.3f  box %.3f" % (it, l_cls.item(), l_box.item()))
