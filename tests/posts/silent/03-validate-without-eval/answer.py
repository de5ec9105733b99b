import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(), nn.MaxPool2d(2))


class SmallCNN(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.features = nn.Sequential(conv_block(3, 16), conv_block(16, 32))
        self.dropout = nn.Dropout(0.5)
        self.classifier = nn.Linear(32, num_classes)

    def forward(self, x):
        x = self.features(x).mean(dim=(2, 3))
        return self.classifier(self.dropout(x))


def train_one_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct, total = 0, 0
    for x, y in loader:
        logits = model(x)
        correct += (logits.argmax(1) == y).sum().item()
        total += y.size(0)
    return correct / total


def main():
    torch.manual_seed(0)
    labels = torch.randint(0, 5, (400,))
    images = torch.randn(400, 3, 16, 16) + labels.view(-1, 1, 1, 1).float() * 0.3
    train = TensorDataset(images[:320], labels[:320])
    val = TensorDataset(images[320:], labels[320:])
    train_loader = DataLoader(train, batch_size=32, shuffle=True)
    val_loader = DataLoader(val, batch_size=16)

    model = SmallCNN()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(4):
        train_loss = train_one_epoch(model, train_loader, optimizer)
        val_acc = evaluate(model, val_loader)
        print(f"epoch {epoch} loss {train_loss:.3f} val_acc {val_acc:.3f}")


main()
