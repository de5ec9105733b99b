import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models

torch.manual_seed(2)

num_classes = 3
y = torch.randint(0, num_classes, (240,))
shift = torch.randn(num_classes, 3, 1, 1)
X = torch.randn(240, 3, 32, 32) + shift[y]

loader = DataLoader(TensorDataset(X[:192], y[:192]), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(X[192:], y[192:]), batch_size=48)

model = models.resnet18(weights=None)
criterion = nn.CrossEntropyLoss()

model.fc = nn.Linear(model.fc.in_features, num_classes)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
head_before = model.fc.weight.detach().clone()

for epoch in range(3):
    model.train()
    epoch_loss = 0.0
    for imgs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(imgs), targets)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * imgs.size(0)
    print(f"epoch {epoch} loss {epoch_loss / 192:.4f}")

model.eval()
with torch.no_grad():
    acc = sum((model(i).argmax(1) == t).sum().item() for i, t in test_loader) / 48
print("test accuracy", acc)
print("head moved by", (model.fc.weight.detach() - head_before).abs().max().item())
