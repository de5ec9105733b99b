import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class DigitNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(32 * 4 * 4, num_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = self.fc(x.flatten(1))
        return F.softmax(x, dim=1)


torch.manual_seed(1)
prototypes = torch.randn(10, 1, 16, 16)
labels = torch.randint(0, 10, (1000,))
images = prototypes[labels] + 1.5 * torch.randn(1000, 1, 16, 16)

train_loader = DataLoader(TensorDataset(images[:800], labels[:800]), batch_size=50, shuffle=True)
test_loader = DataLoader(TensorDataset(images[800:], labels[800:]), batch_size=100)

net = DigitNet()
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)

for epoch in range(5):
    net.train()
    total = 0.0
    for xb, yb in train_loader:
        opt.zero_grad()
        loss = loss_fn(net(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)

    net.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in test_loader:
            hits += (net(xb).argmax(1) == yb).sum().item()
    print(f"epoch {epoch}: loss {total / 800:.4f}, accuracy {hits / 200:.3f}")
