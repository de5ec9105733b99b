import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

N_CLASSES = 4


class Shapes(Dataset):
    def __init__(self, n=128, size=20):
        self.x = 0.2 * torch.randn(n, 3, size, size)
        self.y = torch.zeros(n, size, size, dtype=torch.long)
        for i in range(n):
            for k in range(1, N_CLASSES):
                r, c = torch.randint(0, size - 6, (2,)).tolist()
                self.x[i, :, r:r + 6, c:c + 6] = 0.0
                self.x[i, k - 1, r:r + 6, c:c + 6] = 1.0
                self.y[i, r:r + 6, c:c + 6] = k

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class FCN(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(ch, 2 * ch, 3, padding=1), nn.ReLU())
        self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(2 * ch, ch, 3, padding=1), nn.ReLU())
        self.score = nn.Conv2d(ch, N_CLASSES, 1)

    def forward(self, x):
        return self.score(self.up(self.down(x)))


def mean_iou(pred, target):
    ious = []
    for k in range(N_CLASSES):
        p, t = pred == k, target == k
        union = (p | t).sum().item()
        if union:
            ious.append((p & t).sum().item() / union)
    return sum(ious) / len(ious)


torch.manual_seed(0)
train_loader = DataLoader(Shapes(), batch_size=16, shuffle=True)
val_loader = DataLoader(Shapes(n=32), batch_size=32)
model = FCN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(5):
    model.train()
    for images, masks in train_loader:
        logits = model(images)
        loss = criterion(logits.permute(0, 2, 3, 1).reshape(-1, N_CLASSES), masks.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        miou = sum(mean_iou(model(x).argmax(1), y) for x, y in val_loader) / len(val_loader)
    print(f"epoch {epoch} loss {loss.item():.4f} mIoU {miou:.3f}")
