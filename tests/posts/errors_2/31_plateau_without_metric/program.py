import torch
import torch.nn as nn
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X, y = load_diabetes(return_X_y=True)
y = (y - y.mean()) / y.std()
parts = train_test_split(X * 20, y, test_size=0.25, random_state=1)
X_tr, X_va, y_tr, y_va = [torch.tensor(p, dtype=torch.float32) for p in parts]
train_loader = DataLoader(TensorDataset(X_tr, y_tr), batch_size=32, shuffle=True)

model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 1), nn.Flatten(0))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=2)


def train_one_epoch():
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()


def validate():
    model.eval()
    with torch.no_grad():
        return criterion(model(X_va), y_va).item()


best = float("inf")
for epoch in range(12):
    train_one_epoch()
    val_loss = validate()
    scheduler.step()
    if val_loss < best:
        best = val_loss
        torch.save(model.state_dict(), "best.pt")
    print(f"epoch {epoch:2d} val {val_loss:.4f} lr {optimizer.param_groups[0]['lr']:.5f}")
print("best", best)
