"""Road segmentation with deep supervision: an auxiliary loss at every decoder scale."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

CLASSES = 4


class RoadTiles(Dataset):
    def __init__(self, n, size=64, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.masks, self.images = [], []
        for _ in range(n):
            mask = torch.zeros(size, size, dtype=torch.long)
            for c in range(1, CLASSES):
                a = int(torch.randint(0, size - 16, (1,), generator=g))
                w = int(torch.randint(6, 16, (1,), generator=g))
                if c % 2:
                    mask[a:a + w] = c
                else:
                    mask[:, a:a + w] = c
            img = F.one_hot(mask, CLASSES)[..., 1:].permute(2, 0, 1).float()
            self.masks.append(mask)
            self.images.append(img + 0.4 * torch.randn(img.shape, generator=g))

    def __len__(self):
        return len(self.masks)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(True))


class SupervisedUNet(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.enc1, self.enc2, self.enc3 = conv(3, w), conv(w, 2 * w), conv(2 * w, 4 * w)
        self.dec2, self.dec1 = conv(6 * w, 2 * w), conv(3 * w, w)
        self.heads = nn.ModuleList([nn.Conv2d(c, CLASSES, 1) for c in (w, 2 * w, 4 * w)])

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        e3 = self.enc3(F.max_pool2d(e2, 2))
        d2 = self.dec2(torch.cat([F.interpolate(e3, scale_factor=2.0), e2], 1))
        d1 = self.dec1(torch.cat([F.interpolate(d2, scale_factor=2.0), e1], 1))
        return [head(f) for head, f in zip(self.heads, (d1, d2, e3))]


class DeepSupervisionLoss(nn.Module):
    def __init__(self, weights=(1.0, 0.4, 0.2)):
        super().__init__()
        self.weights = weights

    def forward(self, outputs, mask):
        loss = 0.0
        for weight, logits in zip(self.weights, outputs):
            if logits.shape[-2:] == mask.shape[-2:]:
                target = mask
            else:
                target = F.interpolate(mask.unsqueeze(1).float(), size=logits.shape[-2:], mode="nearest").squeeze(1).long()
            loss = loss + weight * F.cross_entropy(logits, target)
        return loss


def mean_iou(pred, mask):
    scores = []
    for c in range(CLASSES):
        inter = ((pred == c) & (mask == c)).sum().item()
        union = ((pred == c) | (mask == c)).sum().item()
        if union:
            scores.append(inter / union)
    return sum(scores) / len(scores)


if __name__ == "__main__":
    torch.manual_seed(0)
    train = DataLoader(RoadTiles(64), batch_size=8, shuffle=True, drop_last=True)
    val_x, val_y = next(iter(DataLoader(RoadTiles(16, seed=5), batch_size=16)))
    model, criterion = SupervisedUNet(), DeepSupervisionLoss()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(3):
        model.train()
        for x, y in train:
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            pred = model(val_x)[0].argmax(1)
        print(f"epoch {epoch} loss {loss.item():.3f} mIoU {mean_iou(pred, val_y):.3f}")
