import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split


class MelDataset(Dataset):
    """Mel spectrograms (1, n_mels, frames) with a genre label."""

    def __init__(self, n=240, n_mels=32, frames=40, n_genres=4):
        g = torch.Generator().manual_seed(11)
        self.labels = torch.randint(0, n_genres, (n,), generator=g)
        self.specs = torch.randn(n, 1, n_mels, frames, generator=g)
        for i, lab in enumerate(self.labels.tolist()):
            self.specs[i, :, lab * 8:lab * 8 + 8] += 0.7

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.specs[i], self.labels[i]


class GenreCNN(nn.Module):
    def __init__(self, n_genres=4):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d((8, 1)),
        )
        self.fc = nn.Linear(16 * 8, n_genres)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def accuracy(model, loader):
    model.eval()
    hits, n = 0, 0
    with torch.no_grad():
        for spec, label in loader:
            hits += (model(spec).argmax(1) == label).sum().item()
            n += len(label)
    return hits / n


def fit(model, train_loader, val_loader, epochs=8, lr=0.05):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for spec, label in train_loader:
            output = model(spec)
            loss = criterion(output, label)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"[{epoch + 1}] loss {running / len(train_loader):.3f} val acc {accuracy(model, val_loader):.3f}")


torch.manual_seed(0)
train_set, val_set = random_split(MelDataset(), [200, 40])
train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
val_loader = DataLoader(val_set, batch_size=20)
fit(GenreCNN(), train_loader, val_loader)
