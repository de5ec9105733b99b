import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Cells(Dataset):
    """Microscopy tiles with a binary mask of the cells."""

    def __init__(self, n=80, size=48, transform=None, seed=0):
        g = torch.Generator().manual_seed(seed)
        grid = torch.arange(size)
        yy, xx = torch.meshgrid(grid, grid, indexing="ij")
        self.images, self.masks = [], []
        for _ in range(n):
            mask = torch.zeros(size, size)
            for _ in range(3):
                cy, cx = (torch.rand(2, generator=g) * size).tolist()
                r = 4 + 5 * torch.rand(1, generator=g).item()
                mask[((yy - cy) ** 2 + (xx - cx) ** 2) < r * r] = 1.0
            image = 0.2 + 0.6 * mask + 0.1 * torch.randn(size, size, generator=g)
            self.images.append(image.unsqueeze(0))
            self.masks.append(mask.unsqueeze(0))
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if self.transform is not None:
            both = self.transform(torch.cat([image, mask], dim=0))
            image, mask = both[:1], both[1:]
        return image, mask


class TinySegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.mid = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.out = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        return self.out(torch.relu(self.up(self.mid(self.down(x)))))


def dice(logits, masks, eps=1e-6):
    pred = (logits > 0).float()
    inter = (pred * masks).sum(dim=(1, 2, 3))
    return ((2 * inter + eps) / (pred.sum(dim=(1, 2, 3)) + masks.sum(dim=(1, 2, 3)) + eps)).mean()


augment = transforms.Compose([
    transforms.RandomHorizontalFlip(),
    transforms.RandomVerticalFlip(),
])

torch.manual_seed(0)
train_loader = DataLoader(Cells(80, transform=augment, seed=0), batch_size=16, shuffle=True)
val_loader = DataLoader(Cells(24, seed=1), batch_size=24)

model = TinySegNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    model.train()
    running = 0.0
    for image, mask in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(image), mask)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        score = sum(dice(model(im), m).item() for im, m in val_loader) / len(val_loader)
    print(f"epoch {epoch}: loss {running / len(train_loader):.4f} val dice {score:.3f}")
