import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)

N_MELS, FRAMES, N_CLASSES = 32, 48, 4


def make_spectrograms(n):
    labels = torch.randint(0, N_CLASSES, (n,))
    specs = torch.randn(n, 1, N_MELS, FRAMES)
    for i, label in enumerate(labels):
        specs[i, :, label * 8:(label + 1) * 8] += 0.25
    return TensorDataset(specs, labels)


class MelClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d((8, 1)),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(128, N_CLASSES))

    def forward(self, x):
        return self.head(self.conv(x))


def train_one_epoch(model, loader, optimizer, criterion):
    running_loss = 0.0
    for specs, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(specs), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    return running_loss / len(loader)


def validate(model, loader):
    correct, total = 0, 0
    with torch.no_grad():
        for specs, labels in loader:
            preds = model(specs).argmax(dim=1)
            correct += (preds == labels).sum().item()
            total += labels.size(0)
    return correct / total


train_loader = DataLoader(make_spectrograms(512), batch_size=32, shuffle=True)
val_loader = DataLoader(make_spectrograms(128), batch_size=4)
model = MelClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(6):
    loss = train_one_epoch(model, train_loader, optimizer, criterion)
    acc = validate(model, val_loader)
    print(f"epoch {epoch}: train loss {loss:.3f}, val acc {acc:.3f}")
