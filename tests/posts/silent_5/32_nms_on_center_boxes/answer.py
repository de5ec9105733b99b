import torch
from torch import nn
from torchvision.ops import box_convert, box_iou


def scenes(n):
    images = 0.1 * torch.randn(n, 1, 64, 64)
    objectness, boxes = torch.zeros(n, 8, 8), torch.zeros(n, 8, 8, 4)
    for i in range(n):
        for cx, cy in ((int(torch.randint(10, 22, (1,))), 16), (int(torch.randint(42, 54, (1,))), 46)):
            images[i, 0, cy - 6:cy + 6, cx - 6:cx + 6] += 1
            rows, cols = (slice((v - 6) // 8, (v + 5) // 8 + 1) for v in (cy, cx))
            objectness[i, rows, cols] = 1
            boxes[i, rows, cols] = torch.tensor([cx, cy, 12, 12]) / 64
    return images, objectness, boxes


def nms(boxes, scores, threshold=0.4):
    order, keep = scores.argsort(descending=True), []
    while len(order):
        best, order = order[0], order[1:]
        keep.append(best.item())
        order = order[box_iou(boxes[best][None], boxes[order])[0] <= threshold]
    return keep


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(*[
            nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.ReLU())
            for a, b in ((1, 16), (16, 32), (32, 32))])
        self.head = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 5, 1))
        self.register_buffer("centers", (torch.arange(8) + 0.5) / 8)

    def forward(self, x):
        out = self.head(self.features(x)).permute(0, 2, 3, 1)
        cx = self.centers.view(1, 1, 8) + 0.2 * out[..., 1]
        cy = self.centers.view(1, 8, 1) + 0.2 * out[..., 2]
        return out[..., 0], torch.cat([torch.stack([cx, cy], dim=-1), out[..., 3:].sigmoid()], dim=-1)


model, (images, objectness, boxes) = Detector(), scenes(300)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    model.train()
    for idx in torch.randperm(300).split(30):
        score, box = model(images[idx])
        l1 = (box - boxes[idx]).abs().sum(-1)[objectness[idx] == 1].mean()
        loss = nn.functional.binary_cross_entropy_with_logits(score, objectness[idx]) + 5 * l1
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    score, box = model(scenes(5)[0])
for s, b in zip(score.sigmoid().flatten(1), box.flatten(1, 2)):
    s, b = s[s > 0.5], b[s > 0.5]
    keep = nms(box_convert(b, "cxcywh", "xyxy"), s)
    print("objects found:", len(keep), (b[keep][:, :2] * 64).round().tolist())
