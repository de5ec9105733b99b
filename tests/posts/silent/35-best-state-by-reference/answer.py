import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class EarlyStopping:
    def __init__(self, patience=3):
        self.patience = patience
        self.best = float("inf")
        self.counter = 0
        self.best_state = None

    def step(self, val_loss, model):
        if val_loss < self.best:
            self.best = val_loss
            self.best_state = copy.deepcopy(model.state_dict())
            self.counter = 0
        else:
            self.counter += 1
        return self.counter >= self.patience


def evaluate(model, loader, criterion):
    model.eval()
    with torch.no_grad():
        return sum(criterion(model(x), y).item() * len(x) for x, y in loader) / len(loader.dataset)


torch.manual_seed(0)
x = torch.randn(300, 12)
y = x[:, :3].prod(dim=1, keepdim=True) + 0.3 * torch.randn(300, 1)
train_ds, val_ds, test_ds = random_split(TensorDataset(x, y), [180, 60, 60])
train_loader = DataLoader(train_ds, batch_size=20, shuffle=True)
val_loader = DataLoader(val_ds, batch_size=60)
test_loader = DataLoader(test_ds, batch_size=60)

model = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
stopper = EarlyStopping(patience=4)

for epoch in range(25):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    val_loss = evaluate(model, val_loader, criterion)
    print(f"epoch {epoch:2d} train {loss.item():.3f} val {val_loss:.3f}")
    if stopper.step(val_loss, model):
        print("early stop")
        break

model.load_state_dict(stopper.best_state)
print("best val", round(stopper.best, 4), "restored val", round(evaluate(model, val_loader, criterion), 4))
print("test", round(evaluate(model, test_loader, criterion), 4))
