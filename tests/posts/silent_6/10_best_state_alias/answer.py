import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(4)
torch.manual_seed(4)


class BestKeeper:
    def __init__(self, patience):
        self.patience = patience
        self.best = float("inf")
        self.state = None
        self.epoch = -1
        self.bad = 0

    def update(self, value, model, epoch):
        if value < self.best:
            self.best = value
            self.epoch = epoch
            self.bad = 0
            self.state = {k: v.clone() for k, v in model.state_dict().items()}
        else:
            self.bad += 1
        return self.bad >= self.patience


def make_spectra(n, bands=80):
    """Absorption spectra with a concentration to estimate."""
    conc = np.random.uniform(0, 1, n)
    grid = np.linspace(0, 1, bands)
    peak = np.exp(-((grid - 0.4) ** 2) / 0.01)
    other = np.exp(-((grid - 0.55) ** 2) / 0.02)
    spectra = conc[:, None] * peak + np.random.uniform(0, 1, (n, 1)) * other
    spectra += 0.3 * np.random.randn(n, bands)
    measured = conc + 0.15 * np.random.randn(n)
    return (
        torch.tensor(spectra, dtype=torch.float32),
        torch.tensor(measured, dtype=torch.float32).unsqueeze(1),
    )


def build():
    return nn.Sequential(nn.Linear(80, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))


def evaluate(model, x, y, criterion):
    model.eval()
    with torch.no_grad():
        return criterion(model(x), y).item()


train_x, train_y = make_spectra(160)
val_x, val_y = make_spectra(200)
model = build()
settings = {"lr": 2e-3, "epochs": 80, "patience": 40}
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=settings["lr"])
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=16, shuffle=True)
keeper = BestKeeper(settings["patience"])

for epoch in range(settings["epochs"]):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    val_loss = evaluate(model, val_x, val_y, criterion)
    if epoch % 10 == 0:
        print(f"epoch {epoch:3d} val {val_loss:.5f}")
    if keeper.update(val_loss, model, epoch):
        print(f"stopped at epoch {epoch}, val {val_loss:.5f}")
        break

print(f"best epoch {keeper.epoch} with val {keeper.best:.5f}")
model.load_state_dict(keeper.state)
print(f"restored model: val {evaluate(model, val_x, val_y, criterion):.5f}")
