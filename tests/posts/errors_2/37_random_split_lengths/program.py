import torch
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

X, y = load_breast_cancer(return_X_y=True)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
y = torch.tensor(y, dtype=torch.long)
dataset = TensorDataset(X, y)

n_train = int(0.7 * len(dataset))
n_val = int(0.15 * len(dataset))
n_test = int(0.15 * len(dataset))
train_set, val_set, test_set = random_split(
    dataset, [n_train, n_val, n_test], generator=torch.Generator().manual_seed(42)
)

loaders = {
    "train": DataLoader(train_set, batch_size=32, shuffle=True),
    "val": DataLoader(val_set, batch_size=64),
    "test": DataLoader(test_set, batch_size=64),
}

model = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()


def evaluate(split):
    model.eval()
    correct = n = 0
    with torch.no_grad():
        for xb, yb in loaders[split]:
            correct += (model(xb).argmax(1) == yb).sum().item()
            n += len(yb)
    return correct / n


for epoch in range(5):
    model.train()
    for xb, yb in loaders["train"]:
        optimizer.zero_grad()
        criterion(model(xb), yb).backward()
        optimizer.step()
    print(f"epoch {epoch} val accuracy {evaluate('val'):.3f}")
print(f"test accuracy {evaluate('test'):.3f}")
