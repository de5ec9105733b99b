import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

SENSORS = 14
WINDOW = 30


class TurbofanWindows(Dataset):
    """Windows of sensor readings with the remaining useful life of the engine."""

    def __init__(self, n_engines=20, cycles=80):
        self.x, self.rul = [], []
        for _ in range(n_engines):
            trace = torch.randn(cycles, SENSORS).cumsum(0) * 0.05
            for start in range(0, cycles - WINDOW, 5):
                self.x.append(trace[start:start + WINDOW])
                self.rul.append(float(cycles - start - WINDOW) / cycles)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], torch.tensor([self.rul[i]])


class LastStep(nn.Module):
    def forward(self, lstm_output):
        out, _ = lstm_output
        return out[:, -1]


def build_model(hidden):
    return nn.Sequential(
        nn.LSTM(SENSORS, hidden, num_layers=2, batch_first=True, dropout=0.2),
        LastStep(),
        nn.Linear(hidden, 32),
        nn.ReLU(),
        nn.Linear(32, 1),
    )


torch.manual_seed(7)
loader = DataLoader(TurbofanWindows(), batch_size=32, shuffle=True)

model = build_model(hidden=48)
n_params = sum(p.numel() for p in model.parameters())
print(f"{n_params} parameters")

criterion = nn.SmoothL1Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(3):
    epoch_loss = 0.0
    for window, rul in loader:
        optimizer.zero_grad()
        pred = model(window)
        loss = criterion(pred, rul)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        epoch_loss += loss.item()
    print(f"epoch {epoch + 1}: {epoch_loss / len(loader):.4f}")
