import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import models
from torchvision.transforms import v2


class StreetSigns(Dataset):
    def __init__(self, n, transform, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 3, (n,), generator=g)
        self.images = torch.rand(n, 3, 64, 64, generator=g) * 0.5
        for k, c in enumerate(self.labels.tolist()):
            self.images[k, c, 16:48, 16:48] += 0.5
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.images[i]), self.labels[i]


class SignModel(nn.Module):
    def __init__(self, n_classes, freeze_backbone=True):
        super().__init__()
        squeeze = models.squeezenet1_1(weights=None)
        self.backbone = squeeze.features
        self.head = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.LayerNorm(512),
            nn.Linear(512, n_classes),
        )
        if freeze_backbone:
            self.freeze(self.backbone)

    @staticmethod
    def freeze(module):
        for layer in module.children():
            layer.requires_grad_(False)

    def forward(self, x):
        return self.head(self.backbone(x))


def fingerprint(module):
    return sum(p.detach().double().abs().sum().item() for p in module.parameters())


def train(model, loader, epochs, lr):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch + 1}: loss {running / len(loader):.3f}")


def accuracy(model, loader):
    model.eval()
    with torch.inference_mode():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(15)
    augment = v2.Compose([v2.RandomAffine(degrees=8, translate=(0.05, 0.05)), v2.Normalize([0.3] * 3, [0.25] * 3)])
    plain = v2.Normalize([0.3] * 3, [0.25] * 3)
    train_loader = DataLoader(StreetSigns(96, augment, 0), batch_size=16, shuffle=True)
    test_loader = DataLoader(StreetSigns(48, plain, 1), batch_size=24)

    model = SignModel(n_classes=3, freeze_backbone=True)
    before = fingerprint(model.backbone)
    train(model, train_loader, epochs=3, lr=1e-3)
    print(f"test accuracy {accuracy(model, test_loader):.3f}")
    print(f"backbone weights: {before:.3f} before, {fingerprint(model.backbone):.3f} after")


if __name__ == "__main__":
    main()
