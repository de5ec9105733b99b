# A tiny DETR for aerial views of a harbour
import torch
import torch.nn as nn
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from torch.utils.data import DataLoader, Dataset
from torchvision.ops import box_convert, box_iou

BOATS = ["dinghy", "trawler"]
NO_BOAT = len(BOATS)
IMG = 64
QUERIES = 6


class HarbourDataset(Dataset):
    def __init__(self, n_images, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n_images):
            image = 0.2 + 0.05 * torch.rand(3, IMG, IMG, generator=g)
            boxes, labels = [], []
            for _ in range(int(torch.randint(1, 4, (1,), generator=g))):
                kind = int(torch.randint(0, 2, (1,), generator=g))
                w, h = (12, 10) if kind == 0 else (26, 14)
                x = int(torch.randint(0, IMG - w, (1,), generator=g))
                y = int(torch.randint(0, IMG - h, (1,), generator=g))
                image[kind, y:y + h, x:x + w] += 0.7
                boxes.append([x, y, x + w, y + h])
                labels.append(kind)
            self.items.append((image, torch.tensor(boxes, dtype=torch.float32), torch.tensor(labels)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        image, boxes, labels = self.items[idx]
        return image, {"boxes": box_convert(boxes, "xyxy", "cxcywh"), "labels": labels}


def collate_fn(batch):
    images, targets = zip(*batch)
    return torch.stack(images), list(targets)


class TinyDETR(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(64, dim, 3, stride=2, padding=1),
        )
        self.pos = nn.Parameter(torch.randn(1, 64, dim) * 0.5)
        self.queries = nn.Parameter(torch.randn(1, QUERIES, dim))
        layer = nn.TransformerDecoderLayer(dim, 4, 128, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 2)
        self.cls = nn.Linear(dim, len(BOATS) + 1)
        self.box = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 4))

    def forward(self, x):
        memory = self.backbone(x).flatten(2).transpose(1, 2) + self.pos
        h = self.decoder(self.queries.expand(len(x), -1, -1), memory)
        return self.cls(h), self.box(h).sigmoid()


def match(logits, boxes, target):
    """Which query answers for which boat of one image."""
    cost_class = -logits.softmax(-1)[:, target["labels"]]
    cost_box = torch.cdist(boxes, target["boxes"], p=1)
    rows, cols = linear_sum_assignment(cost_class + 5 * cost_box)
    return torch.as_tensor(rows), torch.as_tensor(cols)


def detr_loss(logits, boxes, targets):
    classes = torch.full(logits.shape[:2], NO_BOAT)
    box_loss, n_boats = 0.0, sum(len(t["labels"]) for t in targets)
    for i, target in enumerate(targets):
        rows, cols = match(logits[i], boxes[i], target)
        classes[i, rows] = target["labels"][cols]
        box_loss = box_loss + F.l1_loss(boxes[i, rows], target["boxes"][cols], reduction="sum")
    weight = torch.tensor([1.0, 1.0, 0.3])
    return F.cross_entropy(logits.transpose(1, 2), classes, weight=weight) + 5 * box_loss / n_boats


torch.manual_seed(40)
train_loader = DataLoader(HarbourDataset(320, 1), batch_size=16, shuffle=True)
test_loader = DataLoader(HarbourDataset(48, 2), batch_size=16)
model = TinyDETR()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for images, targets in train_loader:
        loss = detr_loss(*model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1}: loss {total / len(train_loader):.3f}")

model.eval()
best = []
with torch.no_grad():
    for images, targets in test_loader:
        _, boxes = model(images)
        for pred, target in zip(boxes, targets):
            iou = box_iou(box_convert(pred, "cxcywh", "xyxy"), box_convert(target["boxes"], "cxcywh", "xyxy"))
            best.append(iou.max(0).values.mean().item())
print(f"mean best IoU per boat {sum(best) / len(best):.3f}")
