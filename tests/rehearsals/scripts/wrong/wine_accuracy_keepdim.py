import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(0)
torch.manual_seed(0)

N, FEATURES, KINDS = 178, 13, 3
centres = np.random.randn(KINDS, FEATURES) * 1.5
kind = np.random.randint(0, KINDS, N)
wine = centres[kind] + np.random.randn(N, FEATURES)

perm = np.random.permutation(N)
train_ids, test_ids = perm[:140], perm[140:]
X_train = torch.tensor(wine[train_ids], dtype=torch.float32)
y_train = torch.tensor(kind[train_ids])
X_test = torch.tensor(wine[test_ids], dtype=torch.float32)
y_test = torch.tensor(kind[test_ids])

train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=35, shuffle=True)
test_loader = DataLoader(TensorDataset(X_test, y_test), batch_size=19)


class WineNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(FEATURES, 20)
        self.fc2 = nn.Linear(20, KINDS)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def accuracy(model, loader):
    correct = total = 0
    for x, y in loader:
        pred = model(x).argmax(dim=1, keepdim=True)
        correct += (pred == y).sum().item()
        total += y.size(0)
    return 100.0 * correct / total


model = WineNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print("epoch %d, loss %.3f, accuracy %.1f %%" % (epoch, loss.item(), accuracy(model, test_loader)))
