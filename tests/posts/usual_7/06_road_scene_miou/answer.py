import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

N_CLASSES = 5   # road, sidewalk, building, sky, vehicle
VOID = 255


def make_scene(rng, h=48, w=64):
    label = np.zeros((h, w), np.uint8)
    horizon = rng.integers(14, 24)
    label[:horizon] = 3
    bw = rng.integers(10, 24)
    label[6:horizon + 8, :bw] = 2
    label[horizon + 8:, :bw // 2] = 1
    cx, cy = rng.integers(24, 50), rng.integers(horizon + 6, 40)
    label[cy:cy + 6, cx:cx + 10] = 4
    colors = np.array([[.3, .3, .3], [.7, .5, .6], [.5, .3, .2], [.5, .7, .9], [.1, .1, .7]], np.float32)
    image = colors[label] + 0.08 * rng.standard_normal((h, w, 3)).astype(np.float32)
    # own car's bonnet is not annotated
    label[-4:, 12:52] = VOID
    return image.transpose(2, 0, 1), label


class Scenes(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.items = [make_scene(rng) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        x, y = self.items[i]
        return torch.from_numpy(x), torch.from_numpy(y.astype(np.int64))


class SmallFCN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.c1 = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.c2 = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.c3 = nn.Sequential(nn.Conv2d(32, 32, 3, padding=2, dilation=2), nn.BatchNorm2d(32), nn.ReLU())
        self.cls = nn.Conv2d(48, n_classes, 1)

    def forward(self, x):
        low = self.c1(x)
        high = self.c3(self.c2(low))
        high = F.interpolate(high, size=low.shape[-2:], mode="bilinear", align_corners=False)
        return self.cls(torch.cat([low, high], dim=1))


class ConfusionMatrix:
    """Accumulates an n x n confusion matrix over batches; rows are the truth."""

    def __init__(self, n):
        self.n = n
        self.mat = torch.zeros(n, n, dtype=torch.int64)

    def update(self, truth, pred):
        valid = truth < self.n
        truth, pred = truth[valid], pred[valid]
        self.mat += torch.bincount(truth * self.n + pred, minlength=self.n ** 2).view(self.n, self.n)

    def iou(self):
        m = self.mat.double()
        inter = m.diag()
        union = m.sum(0) + m.sum(1) - inter
        return inter / union.clamp(min=1)


def train_one_epoch(model, loader, optimizer):
    model.train()
    total, count = 0.0, 0
    for x, y in loader:
        logits = model(x)
        loss = F.cross_entropy(logits, y, ignore_index=VOID)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
        count += len(x)
    return total / count


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    cm = ConfusionMatrix(N_CLASSES)
    for x, y in loader:
        cm.update(y, model(x).argmax(dim=1))
    return cm.iou()


torch.manual_seed(0)
train_dl = torch.utils.data.DataLoader(Scenes(96, 0), batch_size=12, shuffle=True)
val_dl = torch.utils.data.DataLoader(Scenes(24, 1), batch_size=12)
model = SmallFCN(N_CLASSES)
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for epoch in range(3):
    loss = train_one_epoch(model, train_dl, optimizer)
    iou = evaluate(model, val_dl)
    print(f"epoch {epoch} loss {loss:.3f} mIoU {iou.mean():.3f}", [round(v, 2) for v in iou.tolist()])
