import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.ops import box_iou

SIZE, STRIDE = 48, 4
GRID = SIZE // STRIDE
AXIS = (torch.arange(GRID) + 0.5) * STRIDE
CENTRES = torch.stack(torch.meshgrid(AXIS, AXIS, indexing="xy"), -1).view(-1, 2)


class Squares(Dataset):
    def __init__(self, n, seed):
        g = np.random.default_rng(seed)
        self.items = []
        for _ in range(n):
            img = g.normal(0, 0.15, (SIZE, SIZE))
            boxes = []
            for _ in range(g.integers(1, 4)):
                w, h = g.integers(8, 17, 2)
                x, y = g.integers(0, [SIZE - w, SIZE - h])
                img[y:y + h, x:x + w] += g.uniform(0.8, 1.4)
                boxes.append([x, y, x + w, y + h])
            self.items.append((torch.tensor(img, dtype=torch.float32)[None], torch.tensor(boxes, dtype=torch.float32)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, boxes = self.items[i]
        target = torch.zeros(5, GRID, GRID)
        for b in boxes:
            cx, cy = (b[0] + b[2]) / 2, (b[1] + b[3]) / 2
            gx, gy = int(cx // STRIDE), int(cy // STRIDE)
            centre = torch.tensor([(gx + 0.5) * STRIDE, (gy + 0.5) * STRIDE])
            target[0, gy, gx] = 1
            target[1:, gy, gx] = torch.cat([centre - b[:2], b[2:] - centre]) / 8
        return img, target


def build_detector():
    return nn.Sequential(
        nn.Conv2d(1, 24, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(24, 48, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(48, 48, 3, padding=2, dilation=2), nn.ReLU(), nn.Conv2d(48, 5, 1),
    )


def nms(boxes, scores, iou_thr):
    order, keep = scores.argsort(descending=True), []
    while len(order):
        best, order = order[0], order[1:]
        keep.append(best.item())
        order = order[box_iou(boxes[best][None], boxes[order])[0] <= iou_thr]
    return torch.tensor(keep, dtype=torch.long)


def postprocess(out, score_thr=0.3, iou_thr=0.4):
    scores = torch.sigmoid(out[0]).flatten()
    ltrb = out[1:].flatten(1).T * 8
    boxes = torch.cat([CENTRES - ltrb[:, :2], CENTRES + ltrb[:, 2:]], dim=1)
    confident = scores > score_thr
    boxes, scores = boxes[confident], scores[confident]
    keep = nms(boxes, scores, iou_thr)
    return boxes[keep], scores[keep]


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    found = total = 0
    for i in range(len(data)):
        img, gt = data.items[i]
        boxes, _ = postprocess(model(img[None])[0])
        total += len(gt)
        found += (box_iou(gt, boxes) > 0.5).any(dim=1).sum().item()
    return found / total


torch.manual_seed(0)
train, test = Squares(800, seed=1), Squares(150, seed=2)
loader = DataLoader(train, batch_size=32, shuffle=True)
model = build_detector()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    model.train()
    total = 0.0
    for img, target in loader:
        out = model(img)
        pos = target[:, 0] > 0
        cls = F.binary_cross_entropy_with_logits(out[:, 0], target[:, 0], pos_weight=torch.tensor(8.0))
        reg = F.smooth_l1_loss(out[:, 1:].permute(0, 2, 3, 1)[pos], target[:, 1:].permute(0, 2, 3, 1)[pos])
        loss = cls + 2 * reg
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.3f}  recall@IoU0.5 {evaluate(model, test):.3f}")
