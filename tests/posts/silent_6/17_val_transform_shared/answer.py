import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, random_split


class RandomShift:
    def __init__(self, limit):
        self.limit = limit

    def __call__(self, img):
        dy, dx = torch.randint(-self.limit, self.limit + 1, (2,)).tolist()
        return torch.roll(img, (dy, dx), dims=(1, 2))


class AddNoise:
    def __init__(self, std):
        self.std = std

    def __call__(self, img):
        return img + self.std * torch.randn_like(img)


class Pipeline:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, img):
        for s in self.steps:
            img = s(img)
        return img


class Symbols(Dataset):
    def __init__(self, n, transform=None, seed=0):
        g = torch.Generator().manual_seed(seed)
        protos = (torch.rand(6, 7, 7, generator=g) > 0.5).float()
        self.labels = torch.randint(0, 6, (n,), generator=g)
        self.images = 0.25 * torch.randn(n, 1, 18, 18, generator=g)
        for i, k in enumerate(self.labels.tolist()):
            r, c = torch.randint(2, 10, (2,), generator=g).tolist()
            self.images[i, 0, r:r + 7, c:c + 7] += protos[k]
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.images[i]
        if self.transform is not None:
            img = self.transform(img)
        return img, self.labels[i]


augment = Pipeline(RandomShift(4), AddNoise(0.1))
eval_transform = Pipeline()

torch.manual_seed(0)
full = Symbols(500, transform=augment)
train_set, val_set = random_split(full, [150, 350])
val_set = Subset(Symbols(500, transform=eval_transform), val_set.indices)
train_loader = DataLoader(train_set, batch_size=30, shuffle=True)
val_loader = DataLoader(val_set, batch_size=200)

model = nn.Sequential(
    nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(16 * 49, 64), nn.ReLU(), nn.Linear(64, 6),
)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()


def accuracy(loader):
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


for epoch in range(60):
    model.train()
    total = 0.0
    for x, y in train_loader:
        opt.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        opt.step()
        total += loss.item() * len(y)
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1:2d} train loss {total / 150:.3f} val acc {accuracy(val_loader):.3f}")
