import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    def __init__(self, n, size=64, n_classes=3, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.images = 0.3 * torch.randn(n, 3, size, size, generator=g)
        self.masks = torch.zeros(n, size, size, dtype=torch.long)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        for i in range(n):
            for c in range(1, n_classes):
                cy, cx = torch.randint(12, size - 12, (2,), generator=g).tolist()
                disc = (yy - cy) ** 2 + (xx - cx) ** 2 < 100
                self.masks[i][disc] = c
                self.images[i, c][disc] += 1.5

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def stage(c_in, c_out, stride):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(),
        nn.Conv2d(c_out, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(),
    )


class Encoder(nn.Module):
    def __init__(self, widths=(16, 24, 32, 48)):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 7, stride=4, padding=3), nn.ReLU())
        self.stages = nn.ModuleList(
            [stage(widths[0], widths[0], 1)] + [stage(widths[i], widths[i + 1], 2) for i in range(3)]
        )

    def forward(self, x):
        x, feats = self.stem(x), []
        for s in self.stages:
            x = s(x)
            feats.append(x)
        return feats


class Decoder(nn.Module):
    def __init__(self, widths=(16, 24, 32, 48), dim=32, n_classes=3):
        super().__init__()
        self.proj = nn.ModuleList([nn.Conv2d(w, dim, 1) for w in widths])
        self.fuse = nn.Sequential(nn.Conv2d(4 * dim, dim, 1), nn.BatchNorm2d(dim), nn.ReLU())
        self.cls = nn.Conv2d(dim, n_classes, 1)

    def forward(self, feats):
        size = feats[0].shape[2:]
        ups = [
            F.interpolate(p(f), size=size, mode="bilinear", align_corners=False)
            for p, f in zip(self.proj, feats)
        ]
        return self.cls(self.fuse(torch.cat(ups, dim=1)))


class Segmentor(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.backbone = Encoder()
        self.decode_head = Decoder(n_classes=n_classes)

    def forward(self, img):
        out = self.decode_head(self.backbone(img))
        out = F.interpolate(out, size=img.shape[2:], mode="bilinear", align_corners=False)
        return out


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(Blobs(96), batch_size=16, shuffle=True)
    val_loader = DataLoader(Blobs(32, seed=1), batch_size=16)
    model = Segmentor()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(4):
        model.train()
        for img, mask in train_loader:
            loss = criterion(model(img), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        inter = union = 0
        with torch.no_grad():
            for img, mask in val_loader:
                pred = model(img).argmax(1)
                inter += ((pred == mask) & (mask > 0)).sum().item()
                union += ((pred > 0) | (mask > 0)).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.4f} IoU {inter / union:.3f}")


if __name__ == "__main__":
    main()
