import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split
from torchvision import transforms

MEAN, STD = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)


class ColourShapes(Dataset):
    def __init__(self, n, seed=0, transform=None):
        g = torch.Generator().manual_seed(seed)
        self.targets = torch.randint(0, 6, (n,), generator=g)
        base = torch.rand(6, 3, 4, 4, generator=torch.Generator().manual_seed(99))
        images = F.interpolate(base[self.targets], (16, 16))
        self.images = (images + 0.3 * torch.randn(images.shape, generator=g)).clamp(0, 1)
        self.transform = transform

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        image = self.images[i]
        if self.transform is not None:
            image = self.transform(image)
        return image, self.targets[i]


def get_transforms(augment):
    steps = []
    if augment:
        steps += [transforms.RandomCrop(16, padding=2), transforms.RandomHorizontalFlip()]
    steps.append(transforms.Normalize(MEAN, STD))
    return transforms.Compose(steps)


def get_dataloaders(batch_size=32, split_train_val=0.25, data_augmentation=True, seed=0):
    full = ColourShapes(320)
    n_val = int(len(full) * split_train_val)
    train_dataset, val_dataset = random_split(
        full, [len(full) - n_val, n_val], generator=torch.Generator().manual_seed(seed)
    )
    train_dataset.dataset.transform = get_transforms(augment=data_augmentation)
    val_dataset.dataset.transform = get_transforms(augment=data_augmentation)

    train_loader = DataLoader(train_dataset, batch_size=batch_size, shuffle=True)
    val_loader = DataLoader(val_dataset, batch_size=batch_size)
    return train_loader, val_loader


class GrowingMLP(nn.Module):
    def __init__(self, in_features, hidden, classes):
        super().__init__()
        self.first = nn.Linear(in_features, hidden)
        self.second = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.second(F.relu(self.first(x.flatten(1))))

    @torch.no_grad()
    def grow(self, extra):
        old_first, old_second = self.first, self.second
        hidden = old_first.out_features
        self.first = nn.Linear(old_first.in_features, hidden + extra)
        self.second = nn.Linear(hidden + extra, old_second.out_features)
        self.first.weight[:hidden], self.first.bias[:hidden] = old_first.weight, old_first.bias
        self.second.weight[:, :hidden], self.second.bias[:] = old_second.weight, old_second.bias
        self.second.weight[:, hidden:] = 0


def train_epoch(model, loader, optimizer):
    model.train()
    total, right = 0.0, 0
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        right += (out.argmax(1) == y).sum().item()
    n = len(loader.dataset)
    return total / n, right / n


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader, val_loader = get_dataloaders()
    model = GrowingMLP(3 * 16 * 16, 8, 6)
    for step in range(3):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        for _ in range(4):
            loss, acc = train_epoch(model, train_loader, optimizer)
        print(f"growth {step}: hidden {model.first.out_features} train loss {loss:.3f} acc {acc:.3f} val {evaluate(model, val_loader):.3f}")
        model.grow(8)


if __name__ == "__main__":
    main()
