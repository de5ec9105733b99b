import numpy as np
import torch
from PIL import Image
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

MEAN = [0.32, 0.47, 0.21]
STD = [0.09, 0.10, 0.08]
DISEASES = ["healthy", "rust", "blight", "mildew"]


def leaf_photo(kind, rng, size=40):
    colour = np.array([[75, 125, 50], [92, 120, 50], [75, 110, 50], [85, 128, 66]][kind], dtype=float)
    photo = colour + rng.normal(0, 14, size=(size, size, 3))
    for _ in range(rng.integers(3, 7)):
        r, c = rng.integers(4, size - 6, 2)
        if kind == 1:
            photo[r:r + 3, c:c + 3] += [70, 10, -20]
        elif kind == 2:
            photo[r:r + 6, c:c + 6] -= [30, 50, 15]
        elif kind == 3:
            photo[r:r + 4, c:c + 4] += 55
    return Image.fromarray(photo.clip(0, 255).astype(np.uint8))


class LeafPhotos(Dataset):
    def __init__(self, n, seed, transform):
        rng = np.random.default_rng(seed)
        self.kinds = rng.integers(0, len(DISEASES), n)
        self.photos = [leaf_photo(k, rng) for k in self.kinds]
        self.transform = transform

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, i):
        return self.transform(self.photos[i]), int(self.kinds[i])


def build_transforms(train):
    if train:
        return T.Compose([
            T.RandomCrop(32),
            T.RandomHorizontalFlip(),
            T.RandomVerticalFlip(),
            T.ToTensor(),
            T.Normalize(MEAN, STD),
        ])
    return T.Compose([
        T.CenterCrop(32),
        T.ToTensor(),
    ])


class LeafNet(nn.Module):
    def __init__(self, n_out):
        super().__init__()

        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))

        self.blocks = nn.Sequential(block(3, 16), block(16, 32), block(32, 32))
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(32, n_out)

    def forward(self, x):
        x = self.blocks(x).mean(dim=(2, 3))
        return self.out(self.drop(x))


def run(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    loss_sum, hits = 0.0, 0
    for x, y in loader:
        with torch.set_grad_enabled(optimizer is not None):
            out = model(x)
            loss = criterion(out, y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss_sum += loss.item() * len(y)
        hits += (out.argmax(1) == y).sum().item()
    return loss_sum / len(loader.dataset), hits / len(loader.dataset)


torch.manual_seed(0)
train_loader = DataLoader(LeafPhotos(320, 0, build_transforms(train=True)), batch_size=32, shuffle=True)
valid_loader = DataLoader(LeafPhotos(160, 1, build_transforms(train=False)), batch_size=80)
model = LeafNet(len(DISEASES))
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    train_loss, train_acc = run(model, train_loader, criterion, optimizer)
    valid_loss, valid_acc = run(model, valid_loader, criterion)
    print(f"{epoch}: train {train_loss:.3f} {train_acc:.2f}  valid {valid_loss:.3f} {valid_acc:.2f}")
