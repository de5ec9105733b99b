import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

NUM_LAYERS = 4
CLASSES = 6


def make_glyphs(n):
    y = torch.randint(0, CLASSES, (n,))
    base = torch.zeros(CLASSES, 1, 20, 20)
    for c in range(CLASSES):
        base[c, 0, 2 + 2 * c: 6 + 2 * c, 3:17] = 1.0
        base[c, 0, 3:17, 2 + 2 * c: 5 + 2 * c] = 1.0
    x = base[y] + 0.4 * torch.randn(n, 1, 20, 20)
    return x, y


class ConvBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)
        self.bn = nn.BatchNorm2d(cout)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class GlyphNet(nn.Module):
    """CNN whose depth can be chosen, so that we can plot accuracy against depth."""

    def __init__(self, num_layers=NUM_LAYERS, width=16, num_classes=CLASSES):
        super().__init__()
        channels = [1] + [width] * num_layers
        layers = []
        for i in range(num_layers):
            layers.append(ConvBlock(channels[i], channels[i + 1]))
        self.features = nn.ModuleList(layers)
        self.pool = nn.AdaptiveAvgPool2d(4)
        self.classifier = nn.Linear(width * 16, num_classes)

    def forward(self, x):
        x = self.features(x)
        x = self.pool(x)
        x = x.flatten(1)
        return self.classifier(x)


def run(num_layers):
    model = GlyphNet(num_layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    train_loader = DataLoader(TensorDataset(*make_glyphs(384)), batch_size=32, shuffle=True)
    test_x, test_y = make_glyphs(120)
    for epoch in range(3):
        model.train()
        total = 0
        for images, labels in train_loader:
            optimizer.zero_grad()
            outputs = model(images)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"  depth {num_layers} epoch {epoch} loss {total / len(train_loader):.3f}")
    model.eval()
    with torch.no_grad():
        return (model(test_x).argmax(dim=1) == test_y).float().mean().item()


if __name__ == "__main__":
    results = {depth: run(depth) for depth in (2, 4)}
    for depth, acc in results.items():
        print(f"{depth} layers: test accuracy {acc:.3f}")
