import torch
from torch import nn, optim
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(0)
X = torch.randn(256, 5)
y = X @ torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0]) + 0.1 * torch.randn(256)

dl = DataLoader(TensorDataset(X[:192], y[:192]), batch_size=16, shuffle=True)
valid_dl = DataLoader(TensorDataset(X[192:], y[192:]), batch_size=64)

model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
loss_func = nn.L1Loss()
opt = optim.Adam(model.parameters(), lr=0.01)


def train_epoch(model, dl, opt, loss_func):
    model.train()
    for xb, yb in dl:
        pred = model(xb)
        loss = loss_func(pred, yb)
        loss.backward()
        opt.step()
        opt.zero_grad()


def evaluate(model, dl):
    model.eval()
    with torch.no_grad():
        errors = [(model(xb)[:, 0] - yb).abs().sum().item() for xb, yb in dl]
    return sum(errors) / len(dl.dataset)


for epoch in range(10):
    train_epoch(model, dl, opt, loss_func)
    print(f"epoch {epoch}: mean absolute error {evaluate(model, valid_dl):.3f}")
