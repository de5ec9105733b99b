import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset, random_split


class FruitCNN(nn.Module):
    def __init__(self, n_classes=5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(32 * 8 * 8, 64), nn.ReLU(), nn.Dropout(0.5),
            nn.Linear(64, n_classes),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


@torch.no_grad()
def validate(model, loader, criterion):
    model.eval()
    loss_sum, correct, n = 0.0, 0, 0
    for images, labels in loader:
        outputs = model(images)
        loss_sum += criterion(outputs, labels).item() * labels.size(0)
        correct += (outputs.argmax(1) == labels).sum().item()
        n += labels.size(0)
    return loss_sum / n, correct / n


def fit(model, train_loader, val_loader, epochs, lr):
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=lr)
    history = {"train_loss": [], "val_loss": [], "val_acc": []}

    model.train()
    for epoch in range(epochs):
        running, n = 0.0, 0
        for images, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            running += loss.item() * labels.size(0)
            n += labels.size(0)

        val_loss, val_acc = validate(model, val_loader, criterion)
        history["train_loss"].append(running / n)
        history["val_loss"].append(val_loss)
        history["val_acc"].append(val_acc)
        print(f"Epoch {epoch + 1:2d}/{epochs}  train {running / n:.4f}  val {val_loss:.4f}  acc {val_acc:.3f}")
    return history


torch.manual_seed(0)
labels = torch.randint(0, 5, (400,))
images = torch.rand(400, 3, 32, 32) + 0.1 * labels.view(-1, 1, 1, 1) * torch.rand(400, 3, 1, 1)
train_set, val_set = random_split(TensorDataset(images, labels), [320, 80])

model = FruitCNN()
history = fit(
    model,
    DataLoader(train_set, batch_size=32, shuffle=True),
    DataLoader(val_set, batch_size=80),
    epochs=6,
    lr=1e-3,
)
print("best val acc:", max(history["val_acc"]))
