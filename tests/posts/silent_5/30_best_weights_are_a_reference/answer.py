import copy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
w = torch.randn(30, 1)
x = torch.randn(260, 30)
y = x[:, :5] @ w[:5] + 1.5 * torch.randn(260, 1)
train_x, train_y = x[:60], y[:60]
val_x, val_y = x[60:160], y[60:160]
test_x, test_y = x[160:], y[160:]

model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.MSELoss()
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=15, shuffle=True)


def evaluate(features, target):
    model.eval()
    with torch.no_grad():
        return loss_fn(model(features), target).item()


best_val = float("inf")
best_state = None
best_epoch = -1
for epoch in range(60):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
    val_loss = evaluate(val_x, val_y)
    if val_loss < best_val:
        best_val = val_loss
        best_epoch = epoch
        best_state = copy.deepcopy(model.state_dict())

print(f"best epoch {best_epoch} with val loss {best_val:.4f}")
model.load_state_dict(best_state)
print(f"val loss of the restored model {evaluate(val_x, val_y):.4f}")
print(f"test loss of the restored model {evaluate(test_x, test_y):.4f}")
