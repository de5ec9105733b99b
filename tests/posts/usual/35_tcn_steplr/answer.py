import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
EPOCHS = 12
EPOCHS_PER_DECAY = 5


class WindFarm(Dataset):
    """24 past hours of 3 variables -> power of the next 6 hours"""

    def __init__(self, n_hours=1500, history=24, horizon=6, seed=0):
        rng = np.random.default_rng(seed)
        t = np.arange(n_hours)
        wind = 8 + 3 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 0.5, n_hours)
        temp = 12 + 5 * np.cos(2 * np.pi * t / 24) + rng.normal(0, 0.5, n_hours)
        power = 0.1 * wind ** 2 + rng.normal(0, 0.3, n_hours)
        data = np.stack([wind, temp, power]).astype(np.float32)
        self.data = (data - data.mean(1, keepdims=True)) / data.std(1, keepdims=True)
        self.history, self.horizon = history, horizon

    def __len__(self):
        return self.data.shape[1] - self.history - self.horizon

    def __getitem__(self, i):
        j = i + self.history
        return self.data[:, i:j], self.data[2, j:j + self.horizon]


class CausalBlock(nn.Module):
    def __init__(self, c_in, c_out, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(c_in, c_out, 3, dilation=dilation)
        self.skip = nn.Conv1d(c_in, c_out, 1)

    def forward(self, x):
        out = F.relu(self.conv(F.pad(x, (self.pad, 0))))
        return out + self.skip(x)


class TCN(nn.Module):
    def __init__(self, c_in=3, width=32, horizon=6):
        super().__init__()
        self.blocks = nn.Sequential(CausalBlock(c_in, width, 1), CausalBlock(width, width, 2), CausalBlock(width, width, 4))
        self.out = nn.Linear(width, horizon)

    def forward(self, x):
        return self.out(self.blocks(x)[:, :, -1])


loader = DataLoader(WindFarm(), batch_size=64, shuffle=True)
val_loader = DataLoader(WindFarm(400, seed=1), batch_size=128)
model = TCN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=EPOCHS_PER_DECAY, gamma=0.1)

for epoch in range(EPOCHS):
    model.train()
    train_loss = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    scheduler.step()

    model.eval()
    with torch.no_grad():
        val_loss = np.mean([F.mse_loss(model(x), y).item() for x, y in val_loader])
    print(f"epoch {epoch:2d} train {train_loss / len(loader):.4f} val {val_loss:.4f}")
