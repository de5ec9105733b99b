import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(42)

CLASS_NAMES = ["top", "trouser", "pullover", "dress", "coat",
               "sandal", "shirt", "sneaker", "bag", "boot"]


class ClothesDataset(Dataset):
    def __init__(self, n):
        self.targets = torch.randint(0, len(CLASS_NAMES), (n,))
        self.images = torch.randn(n, 1, 28, 28) * 0.3
        for i, t in enumerate(self.targets):
            self.images[i, 0, 2 * t:2 * t + 4] += 1.0

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, idx):
        return self.images[idx], self.targets[idx]


class ClothesVGG(nn.Module):
    def __init__(self, in_channels, hidden_units, n_classes):
        super().__init__()
        self.block_1 = nn.Sequential(
            nn.Conv2d(in_channels, hidden_units, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.block_2 = nn.Sequential(
            nn.Conv2d(hidden_units, hidden_units, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(hidden_units * 7 * 7, n_classes),
        )

    def forward(self, x):
        x = self.block_1(x)
        x = self.block_2(x)
        return self.classifier(x)


def train(model, loader, epochs=2):
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for X, y in loader:
            X, y = X.to(device), y.to(device)
            loss = loss_fn(model(X), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")


def show_prediction(model, image, label):
    model.eval()
    with torch.inference_mode():
        logits = model(image.to(device))
    pred = logits.softmax(dim=1).argmax(dim=1).item()
    print(f"predicted {CLASS_NAMES[pred]}, truth {CLASS_NAMES[label]}")


if __name__ == "__main__":
    train_data, test_data = ClothesDataset(640), ClothesDataset(64)
    model = ClothesVGG(in_channels=1, hidden_units=10, n_classes=len(CLASS_NAMES)).to(device)
    train(model, DataLoader(train_data, batch_size=32, shuffle=True))
    image, label = test_data[0]
    show_prediction(model, image, label)
