import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import squeezenet1_1

torch.manual_seed(25)

labels = torch.randint(0, 4, (160,))
images = torch.randn(160, 3, 64, 64) + torch.randn(4, 3, 1, 1)[labels]
train_loader = DataLoader(TensorDataset(images[:128], labels[:128]), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(images[128:], labels[128:]), batch_size=32)

model = squeezenet1_1(weights=None)
for param in model.features.parameters():
    param.require_grad = False
model.classifier[1] = nn.Conv2d(512, 4, kernel_size=1)

optimizer = torch.optim.SGD(
    (p for p in model.parameters() if p.requires_grad), lr=0.005, momentum=0.9
)
criterion = nn.CrossEntropyLoss()
first_conv = model.features[0].weight.detach().clone()

for epoch in range(3):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
    print(f"epoch {epoch} loss {running / 128:.4f}")

model.eval()
with torch.no_grad():
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader)
print("test accuracy", hits / 32)
print("first conv changed:", not torch.equal(first_conv, model.features[0].weight))
