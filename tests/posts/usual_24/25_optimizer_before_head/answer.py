import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models

torch.manual_seed(0)

NUM_CLASSES = 3
EPOCHS = 6


def flower_data(n):
    labels = torch.randint(0, NUM_CLASSES, (n,))
    images = 0.3 * torch.randn(n, 3, 32, 32)
    images[torch.arange(n), labels] += 0.5
    return TensorDataset(images, labels)


train_loader = DataLoader(flower_data(96), batch_size=16, shuffle=True)
val_loader = DataLoader(flower_data(48), batch_size=16)

# %% model
model = models.vgg11(weights=None)
for p in model.features.parameters():
    p.requires_grad = False

in_features = model.classifier[0].in_features
model.classifier = nn.Sequential(
    nn.Linear(in_features, 64),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(64, NUM_CLASSES),
)
optimizer = torch.optim.Adam(model.classifier.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

# %% training
history = []
for epoch in range(EPOCHS):
    model.train()
    running_loss = 0.0
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * len(labels)

    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in val_loader:
            correct += (model(images).argmax(1) == labels).sum().item()
    history.append(running_loss / len(train_loader.dataset))
    print(f"epoch {epoch + 1}: loss {history[-1]:.4f}, val acc {correct / len(val_loader.dataset):.3f}")
