import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import timm

torch.manual_seed(0)
labels = torch.randint(0, 3, (480,))
images = torch.randn(480, 3, 32, 32) * torch.tensor([60.0, 5.0, 0.5]).view(1, 3, 1, 1)
images = images + torch.tensor([120.0, 20.0, 1.0]).view(1, 3, 1, 1)
for i, label in enumerate(labels.tolist()):
    r, c = torch.randint(0, 20, (2,)).tolist()
    images[i, 2, r:r + 10, c:c + 10] += 0.75 * label

train_images, test_images = images[:400], images[400:]
train_labels, test_labels = labels[:400], labels[400:]
mean = train_images.mean(dim=(0, 2, 3), keepdim=True)
std = train_images.std(dim=(0, 2, 3), keepdim=True)
train_images = (train_images - mean) / std
test_images = (test_images - mean) / std

train_loader = DataLoader(TensorDataset(train_images, train_labels), batch_size=40, shuffle=True)
test_loader = DataLoader(TensorDataset(test_images, test_labels), batch_size=40)
model = timm.create_model("resnet10t", pretrained=False, num_classes=3)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(x)
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            correct += (model(x).argmax(dim=1) == y).sum().item()
    print(f"epoch {epoch}: loss {running / 400:.3f}, test accuracy {correct / 80:.3f}")
