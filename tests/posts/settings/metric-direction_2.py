# line 12: the plateau schedule waits for a maximum but is given the validation loss
import numpy as np
import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(85)
torch.manual_seed(85)
config = {
    "optim": {"lr": 0.02, "weight_decay": 1e-4},
    "plateau": {"mode": "max", "factor": 0.5, "patience": 1},
    "epochs": 8,
}


class Tides(nn.Module):
    def __init__(self, lag):
        super().__init__()
        self.linear = nn.Linear(lag, 1)
        self.bumps = nn.Sequential(nn.Linear(lag, 24), nn.SiLU(), nn.Linear(24, 1))

    def forward(self, past):
        return (self.linear(past) + self.bumps(past)).squeeze(-1)


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total = 0.0
    with torch.set_grad_enabled(optimizer is not None):
        for past, following in loader:
            loss = nn.functional.mse_loss(model(past), following)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(past)
    return total / len(loader.dataset)


hours = np.arange(560)
level = np.sin(hours / 2) + 0.5 * np.sin(hours / 3.7) + 0.1 * np.random.randn(560)
level = torch.tensor(level, dtype=torch.float32).unfold(0, 13, 1)
data = TensorDataset(level[:, :-1], level[:, -1])
train = DataLoader(torch.utils.data.Subset(data, range(440)), 40, shuffle=True)
valid = DataLoader(torch.utils.data.Subset(data, range(440, len(data))), 40)
model = Tides(12)
optimizer = torch.optim.AdamW(model.parameters(), **config["optim"])
scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, **config["plateau"])
for epoch in range(config["epochs"]):
    run_epoch(model, train, optimizer)
    valid_loss = run_epoch(model, valid)
    scheduler.step(valid_loss)
    print(epoch, valid_loss, optimizer.param_groups[0]["lr"])
