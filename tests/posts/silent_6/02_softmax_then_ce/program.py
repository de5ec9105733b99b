import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def draw_shapes(n, size=20):
    images = 0.15 * torch.rand(n, 1, size, size)
    labels = torch.randint(0, 4, (n,))
    for i in range(n):
        r, c = torch.randint(2, 9, (2,)).tolist()
        k = labels[i].item()
        if k == 0:
            images[i, 0, r:r + 9, c:c + 9] += 0.7
        elif k == 1:
            images[i, 0, r:r + 9, c:c + 2] += 0.7
        elif k == 2:
            images[i, 0, r:r + 2, c:c + 9] += 0.7
        else:
            for j in range(9):
                images[i, 0, r + j, c + j] += 0.7
    return images, labels


class ShapeNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(2),
        )
        self.fc = nn.Linear(16 * 4, classes)

    def forward(self, x):
        h = self.features(x).flatten(1)
        logits = self.fc(h)
        return torch.softmax(logits, dim=1)


class Trainer:
    def __init__(self, model, train_set, val_set, lr=1e-3, batch_size=32):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size, shuffle=True)
        self.val_loader = DataLoader(val_set, 128)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def train_epoch(self):
        self.model.train()
        total, count = 0.0, 0
        for images, labels in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(images), labels)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(labels)
            count += len(labels)
        return total / count

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits, count = 0, 0
        for images, labels in self.val_loader:
            hits += (self.model(images).argmax(1) == labels).sum().item()
            count += len(labels)
        return hits / count

    def run(self, epochs):
        for epoch in range(1, epochs + 1):
            loss = self.train_epoch()
            print(f"[{epoch}/{epochs}] loss={loss:.4f} val_acc={self.validate():.3f}")


if __name__ == "__main__":
    torch.manual_seed(7)
    x, y = draw_shapes(1200)
    train_set, val_set = random_split(TensorDataset(x, y), [1000, 200])
    Trainer(ShapeNet(), train_set, val_set).run(epochs=12)
