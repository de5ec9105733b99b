# line 25: the mixture weights of the forecasters are a softmax over the hours but are summed over the forecasters
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
rng = np.random.default_rng(4)
HOURS, EXPERTS, LOOKBACK = 12, 5, 36
t = np.arange(900)
load = np.sin(2 * np.pi * t / 24) + 0.3 * np.sin(2 * np.pi * t / 168) + 0.1 * rng.standard_normal(900)
starts = np.arange(0, 900 - LOOKBACK - HOURS, 4)
past = np.stack([load[s : s + LOOKBACK] for s in starts]).astype("float32")
future = np.stack([load[s + LOOKBACK : s + LOOKBACK + HOURS] for s in starts]).astype("float32")


class MixtureForecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(LOOKBACK, HOURS) for _ in range(EXPERTS))
        self.gate = nn.Sequential(nn.Linear(LOOKBACK, hidden), nn.Tanh(), nn.Linear(hidden, HOURS * EXPERTS))

    def mixing(self, window):
        scores = self.gate(window).unflatten(1, (HOURS, EXPERTS))
        return torch.softmax(scores, dim=1)

    def forward(self, window):
        forecasts = torch.stack([expert(window) for expert in self.experts], dim=2)
        return torch.einsum("nhe,nhe->nh", self.mixing(window), forecasts)


model = MixtureForecaster()
loader = DataLoader(TensorDataset(torch.from_numpy(past), torch.from_numpy(future)), batch_size=32, shuffle=True)
adam = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    squared, seen = 0.0, 0
    for window, ahead in loader:
        loss = (model(window) - ahead).pow(2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        squared += loss.item() * len(window)
        seen += len(window)
    print(f"epoch {epoch}: mse {squared / seen:.4f}")
