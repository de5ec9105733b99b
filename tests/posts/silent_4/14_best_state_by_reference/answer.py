import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(14)
x = torch.randn(300, 25)
y = (x[:, :3].sum(1) + 1.2 * torch.randn(300) > 0).float().unsqueeze(1)
train_loader = DataLoader(TensorDataset(x[:120], y[:120]), batch_size=20, shuffle=True)
val_x, val_y = x[120:210], y[120:210]
test_x, test_y = x[210:], y[210:]

model = nn.Sequential(nn.Linear(25, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


@torch.no_grad()
def loss_on(inputs, targets):
    model.eval()
    return criterion(model(inputs), targets).item()


best_loss = float("inf")
best_state = None
best_epoch = -1
for epoch in range(40):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        criterion(model(xb), yb).backward()
        optimizer.step()
    val_loss = loss_on(val_x, val_y)
    if val_loss < best_loss:
        best_loss = val_loss
        best_epoch = epoch
        best_state = copy.deepcopy(model.state_dict())

model.load_state_dict(best_state)
print(f"best epoch {best_epoch} with val loss {best_loss:.4f}")
print(f"val loss of restored model {loss_on(val_x, val_y):.4f}")
print(f"test loss of restored model {loss_on(test_x, test_y):.4f}")
