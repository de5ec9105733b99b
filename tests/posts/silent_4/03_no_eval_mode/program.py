import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
N = 1200
X = torch.randn(N, 20)
y = ((X[:, 0] * X[:, 1] + X[:, 2]) > 0).long()

train_dl = DataLoader(TensorDataset(X[:1000], y[:1000]), batch_size=50, shuffle=True)
test_dl = DataLoader(TensorDataset(X[1000:], y[1000:]), batch_size=8)

model = nn.Sequential(
    nn.Linear(20, 64),
    nn.BatchNorm1d(64),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(64, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def train_one_epoch():
    model.train()
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()


def evaluate(loader):
    correct, total = 0, 0
    with torch.no_grad():
        for xb, yb in loader:
            pred = model(xb).argmax(dim=1)
            correct += (pred == yb).sum().item()
            total += yb.numel()
    return correct / total


for epoch in range(20):
    train_one_epoch()
    print(f"epoch {epoch:02d} test acc {evaluate(test_dl):.4f}")

print("final:", evaluate(test_dl), evaluate(test_dl))
