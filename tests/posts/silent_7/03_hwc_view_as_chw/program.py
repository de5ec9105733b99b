import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES = ["red bar", "green bar", "blue bar", "red dot", "green dot", "blue dot"]


def paint(rng, label, side=24):
    canvas = rng.integers(0, 90, size=(side, side, 3)).astype(np.uint8)
    channel = label % 3
    r, c = rng.integers(2, side - 10, size=2)
    if label < 3:
        canvas[r:r + 3, c:c + 9, channel] = rng.integers(140, 200)
    else:
        canvas[r:r + 5, c:c + 5, channel] = rng.integers(140, 200)
    return canvas


class SignDataset(Dataset):
    """Pictures as OpenCV or PIL would hand them over: uint8, height x width x RGB."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, len(CLASSES), size=n)
        self.pictures = [paint(rng, k) for k in self.labels]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        picture = torch.from_numpy(self.pictures[i]).float() / 255
        h, w, c = picture.shape
        return picture.reshape(c, h, w), int(self.labels[i])


class SignNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveMaxPool2d(1),
        )
        self.classifier = nn.Linear(24, len(CLASSES))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def accuracy(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(dim=1) == y).sum().item()
    return hits / len(loader.dataset)


torch.manual_seed(0)
train_loader = DataLoader(SignDataset(1000, seed=0), batch_size=50, shuffle=True)
test_loader = DataLoader(SignDataset(400, seed=1), batch_size=200)

model = SignNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(6):
    model.train()
    losses = []
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"[{epoch + 1}] loss {np.mean(losses):.3f}  test accuracy {accuracy(model, test_loader):.3f}")
