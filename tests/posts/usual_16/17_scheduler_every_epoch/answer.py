import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(123)
EPOCHS = 12


def shapes_dataset(n):
    """16x16 pictures: square, cross or diagonal, with a lot of noise"""
    x = torch.zeros(n, 1, 16, 16)
    y = torch.randint(0, 3, (n,))
    for i in range(n):
        a, b = torch.randint(2, 7, (2,)).tolist()
        if y[i] == 0:
            x[i, 0, a:a + 6, b:b + 6] = 1
        elif y[i] == 1:
            x[i, 0, a + 3, b:b + 7] = 1
            x[i, 0, a:a + 7, b + 3] = 1
        else:
            for k in range(7):
                x[i, 0, a + k, b + k] = 1
    return x + 0.6 * torch.randn_like(x), y


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 4 * 4, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def train_one_epoch(model, loader, optimizer, scheduler, epoch):
    model.train()
    total_loss = 0.0
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
    scheduler.step()
    return total_loss / len(loader)


def test(model, loader):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            loss += F.cross_entropy(output, target, reduction="sum").item()
            correct += (output.argmax(dim=1) == target).sum().item()
    n = len(loader.dataset)
    return loss / n, 100.0 * correct / n


train_loader = DataLoader(TensorDataset(*shapes_dataset(1500)), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(*shapes_dataset(300)), batch_size=100)
model = SmallCNN()
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = StepLR(optimizer, step_size=4, gamma=0.3)

for epoch in range(1, EPOCHS + 1):
    train_loss = train_one_epoch(model, train_loader, optimizer, scheduler, epoch)
    test_loss, acc = test(model, test_loader)
    print(f"Epoch {epoch:2d}  train loss {train_loss:.4f}  test loss {test_loss:.4f}  accuracy {acc:.1f}%")
