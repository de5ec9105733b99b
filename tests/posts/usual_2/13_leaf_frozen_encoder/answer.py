import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.pool(x).flatten(1)


class LeafClassifier(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, n_classes))

    def forward(self, x):
        return self.head(self.encoder(x))


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False


def main():
    torch.manual_seed(0)
    model = LeafClassifier(n_classes=7)
    freeze(model.encoder)

    trainable = [p for p in model.parameters() if p.requires_grad]
    n_total = sum(p.numel() for p in model.parameters())
    n_trainable = sum(p.numel() for p in trainable)
    print(f"{n_trainable} of {n_total} parameters will be trained")

    images = torch.rand(120, 3, 40, 40)
    labels = torch.randint(0, 7, (120,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=24, shuffle=True)

    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(trainable, lr=0.01, momentum=0.9, weight_decay=1e-4)

    for epoch in range(3):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
