import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

GARMENTS = {0: "shirt", 1: "trousers", 2: "dress", 3: "shoe", 4: "bag"}


class GarmentDataset(Dataset):
    def __init__(self, count, seed=0):
        gen = torch.Generator().manual_seed(seed)
        self.targets = torch.randint(0, len(GARMENTS), (count,), generator=gen)
        self.images = 0.2 * torch.rand(count, 1, 28, 28, generator=gen)
        for img, t in zip(self.images, self.targets.tolist()):
            if t == 0:
                img[0, 4:14, 4:24] += 0.7
            elif t == 1:
                img[0, 4:26, 8:12] += 0.7
                img[0, 4:26, 16:20] += 0.7
            elif t == 2:
                img[0, 4:26, 10:18] += 0.7
            elif t == 3:
                img[0, 18:24, 2:26] += 0.7
            else:
                img[0, 10:22, 6:22] += 0.7

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, item):
        return self.images[item], self.targets[item]


class GarmentNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(32 * 7 * 7, 64),
            nn.ReLU(),
            nn.Dropout(0.25),
            nn.Linear(64, len(GARMENTS)),
        )

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x)


def train_model(model, loader, epochs=2):
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for images, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), targets)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"Epoch {epoch + 1}/{epochs} - loss {running / len(loader):.4f}")


def test_model(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, targets in loader:
            correct += (model(images).argmax(dim=1) == targets).sum().item()
    print(f"Test accuracy {100 * correct / len(loader.dataset):.1f}%")


def predict(model, image):
    model.eval()
    with torch.no_grad():
        logits = model(image.unsqueeze(0))
        probs = torch.softmax(logits, dim=-1)
    conf, idx = probs.max(dim=-1)
    return GARMENTS[idx.item()], conf.item()


if __name__ == "__main__":
    torch.manual_seed(9)
    train_set, test_set = GarmentDataset(400, seed=1), GarmentDataset(80, seed=2)
    model = GarmentNet()
    train_model(model, DataLoader(train_set, batch_size=32, shuffle=True))
    test_model(model, DataLoader(test_set, batch_size=40))

    for k in range(3):
        picture, target = test_set[k]
        name, conf = predict(model, picture)
        print(f"#{k}: predicted {name} ({conf:.2f}), actually {GARMENTS[target.item()]}")
