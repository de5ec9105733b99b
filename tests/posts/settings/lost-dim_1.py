# line 17: squeeze(1) removes the horizon if it is 1, and the loss then pairs all samples
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class DirectForecaster(nn.Module):
    def __init__(self, channels, horizon, hidden=20):
        super().__init__()
        self.horizon, self.channels = horizon, channels
        self.encoder = nn.GRU(channels, hidden, batch_first=True)
        self.decoder = nn.Linear(hidden, horizon * channels)

    def forward(self, past):
        _, state = self.encoder(past)
        flat = self.decoder(state[-1])
        return flat.view(-1, self.horizon, self.channels).squeeze(1)


def cut(series, past, horizon):
    pieces = series.unfold(1, past + horizon, past).permute(0, 1, 3, 2)
    pieces = pieces.reshape(-1, past + horizon, series.size(2))
    return TensorDataset(pieces[:, :past], pieces[:, past:])


def run(series, horizon, epochs=3):
    torch.manual_seed(0)
    model = DirectForecaster(series.size(2), horizon)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(epochs):
        for past, future in DataLoader(cut(series, 12, horizon), 32, shuffle=True):
            gap = model(past) - future
            loss = gap.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


torch.manual_seed(41)
phase = torch.rand(40, 1, 2) * 6
series = torch.sin(phase + 0.4 * torch.arange(64).view(1, -1, 1)) + 0.05 * torch.randn(40, 64, 2)
for horizon in (6, 3, 1):
    print("horizon", horizon, "loss", run(series, horizon))
