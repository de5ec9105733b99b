import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class BeatRegressor(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(3, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.rnn(x)
        return self.fc(h[-1]).squeeze(-1)


torch.manual_seed(0)
bpm = torch.empty(96).uniform_(50, 150)
t = torch.linspace(0, 4, 60)
wave = torch.sin(2 * torch.pi * bpm[:, None] / 60 * t)
signal = torch.stack([wave, wave.roll(1, 1), torch.randn_like(wave) * 0.1], dim=-1)
loader = DataLoader(TensorDataset(signal, (bpm - 100) / 30), batch_size=24, shuffle=True)

model = BeatRegressor()
criterion = nn.SmoothL1Loss(reduction="avg", beta=0.5)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(3):
    epoch_loss = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        epoch_loss += loss.item() * len(xb)
    print(f"epoch {epoch}: {epoch_loss / len(loader.dataset):.4f}")
