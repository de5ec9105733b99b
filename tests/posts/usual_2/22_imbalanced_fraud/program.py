import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Transactions(Dataset):
    def __init__(self, x, y):
        self.x = torch.from_numpy(x).float()
        self.y = torch.from_numpy(y).long()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class FraudNet(nn.Module):
    def __init__(self, n_features, n_classes):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, 64),
            nn.LayerNorm(64),
            nn.GELU(),
            nn.Linear(64, 32),
            nn.GELU(),
            nn.Linear(32, n_classes),
        )

    def forward(self, x):
        return self.layers(x)


def load_transactions(n=800, n_features=14):
    rng = np.random.default_rng(2)
    y = rng.choice(3, size=n, p=[0.9, 0.07, 0.03])
    x = rng.normal(size=(n, n_features)) + 0.5 * y[:, None]
    return x, y


def balanced_weights(y):
    counts = np.bincount(y)
    return len(y) / (len(counts) * counts)


def confusion(model, loader, n_classes):
    matrix = torch.zeros(n_classes, n_classes, dtype=torch.long)
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            for t, p in zip(y, model(x).argmax(1)):
                matrix[t, p] += 1
    return matrix


torch.manual_seed(0)
x, y = load_transactions()
train_loader = DataLoader(Transactions(x[:600], y[:600]), batch_size=50, shuffle=True)
test_loader = DataLoader(Transactions(x[600:], y[600:]), batch_size=100)

class_weights = torch.tensor(balanced_weights(y[:600]))
print("class weights:", class_weights.tolist())

model = FraudNet(n_features=14, n_classes=3)
criterion = nn.CrossEntropyLoss(weight=class_weights)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)

for epoch in range(4):
    model.train()
    running_loss = 0.0
    for features, labels in train_loader:
        optimizer.zero_grad()
        outputs = model(features)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print(f"epoch {epoch}: {running_loss / len(train_loader):.4f}")

print(confusion(model, test_loader, 3))
