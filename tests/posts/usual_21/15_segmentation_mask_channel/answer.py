import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class SegDataset(Dataset):
    """Images with a bright square (class 1) and a dark stripe (class 2)."""

    def __init__(self, n=32, size=64):
        self.n = n
        self.size = size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        image = 0.1 * torch.randn(3, self.size, self.size, generator=g)
        mask = torch.zeros(1, self.size, self.size, dtype=torch.long)
        r, c = torch.randint(0, self.size - 20, (2,), generator=g).tolist()
        image[:, r:r + 20, c:c + 20] += 1.0
        mask[:, r:r + 20, c:c + 20] = 1
        s = int(torch.randint(0, self.size - 6, (1,), generator=g))
        image[:, s:s + 6, :] = image[:, s:s + 6, :] - 1.5
        mask[:, s:s + 6, :] = 2
        return image, mask.squeeze(0)


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class TinyUNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.enc1 = block(3, 16)
        self.enc2 = block(16, 32)
        self.mid = block(32, 32)
        self.dec2 = block(64, 16)
        self.dec1 = block(32, 16)
        self.out = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        m = self.mid(F.max_pool2d(e2, 2))
        d2 = F.interpolate(m, scale_factor=2, mode="bilinear", align_corners=False)
        d2 = self.dec2(torch.cat([d2, e2], dim=1))
        d1 = F.interpolate(d2, scale_factor=2, mode="bilinear", align_corners=False)
        d1 = self.dec1(torch.cat([d1, e1], dim=1))
        return self.out(d1)


def main():
    torch.manual_seed(0)
    loader = DataLoader(SegDataset(), batch_size=4, shuffle=True)
    model = TinyUNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        model.train()
        hits = pixels = 0
        for images, masks in loader:
            logits = model(images)
            loss = criterion(logits, masks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits += (logits.argmax(dim=1) == masks).sum().item()
            pixels += masks.numel()
        print(f"epoch {epoch}: loss {loss.item():.4f} pixel accuracy {hits / pixels:.3f}")


if __name__ == "__main__":
    main()
