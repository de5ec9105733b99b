# Digits recogniser, homework week 6
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

np.random.seed(6)
torch.manual_seed(6)

# 8x8 digits: ten random prototypes plus noise
prototypes = np.random.rand(10, 8, 8)


def make_digits(n):
    labels = np.random.randint(0, 10, n)
    images = prototypes[labels] + 0.25 * np.random.randn(n, 8, 8)
    images = images.clip(0, 1).astype(np.float32)[:, None]
    return torch.tensor(images), torch.tensor(labels)


train_ds = TensorDataset(*make_digits(1500))
test_ds = TensorDataset(*make_digits(300))
train_loader = DataLoader(train_ds, batch_size=50, shuffle=True)
test_loader = DataLoader(test_ds, batch_size=100)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


def train(model, loader, optimizer, epoch):
    model.train()
    train_loss = 0
    for data, target in loader:
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        train_loss += loss.item() * len(data)
    optimizer.step()
    print('Epoch {}: train loss {:.4f}'.format(epoch, train_loss / len(loader.dataset)), end=' ')


def test(model, loader):
    model.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction='sum').item()
            pred = output.argmax(dim=1)
            correct += (pred == target).sum().item()
    print('| test loss {:.4f}, accuracy {}/{}'.format(
        test_loss / len(loader.dataset), correct, len(loader.dataset)))


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(1, 6):
    train(model, train_loader, optimizer, epoch)
    test(model, test_loader)
