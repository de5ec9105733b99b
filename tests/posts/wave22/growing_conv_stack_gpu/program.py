import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ConvStack(nn.Module):
    def __init__(self, in_channels, out_channels, layer_size):
        super().__init__()
        self.convs = []
        for idx in range(layer_size):
            self.convs.append(nn.Conv2d(in_channels, out_channels, kernel_size=(3, 3), stride=2, padding=1))
            in_channels = out_channels
            out_channels *= 2
        self.out_channels = in_channels

    def forward(self, x):
        for conv in self.convs:
            x = F.relu(conv(x))
        return x


class DigitNet(nn.Module):
    def __init__(self, layer_size=3, num_classes=10):
        super().__init__()
        self.features = ConvStack(in_channels=1, out_channels=16, layer_size=layer_size)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(self.features.out_channels, num_classes)

    def forward(self, x):
        x = self.features(x)
        x = self.pool(x).flatten(1)
        return self.classifier(x)


def make_digits(n):
    labels = torch.randint(0, 10, (n,))
    images = torch.randn(n, 1, 28, 28) * 0.3
    for i, label in enumerate(labels.tolist()):
        images[i, :, 2 * label + 2:2 * label + 6, 4:24] += 1.0
    return TensorDataset(images, labels)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(make_digits(512), batch_size=64, shuffle=True)

    model = DigitNet().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(1, 6):
        model.train()
        total, correct = 0.0, 0
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            logits = model(images)
            loss = criterion(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * images.size(0)
            correct += (logits.argmax(dim=1) == labels).sum().item()
        print(f"epoch {epoch} loss {total / 512:.4f} acc {correct / 512:.3f}")


if __name__ == "__main__":
    main()
