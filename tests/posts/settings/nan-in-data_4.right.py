# line 11: the left merge leaves NaN for the days without a weather report, and the window tensors keep them
import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(77)
days = pd.date_range("2021-01-01", periods=360)
bikes = pd.DataFrame({"day": days, "trips": 100 + 30 * np.sin(np.arange(360) / 58) + rng.normal(0, 4, 360)})
weather = pd.DataFrame({"day": days, "rain": rng.gamma(1.0, 2.0, 360)}).drop(index=rng.choice(360, 25, replace=False))
table = bikes.merge(weather, on="day", how="left").set_index("day").ffill().bfill()
table = (table - table.mean()) / table.std()
series = torch.tensor(table.to_numpy(), dtype=torch.float32)


class TripLSTM(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, window):
        out, _ = self.lstm(window)
        return self.head(out[:, -1]).squeeze(1)


LOOKBACK = 7
windows = series.unfold(0, LOOKBACK, 1).transpose(1, 2)[:-1]
targets = series[LOOKBACK:, 0]
torch.manual_seed(77)
model = TripLSTM()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
train = torch.utils.data.TensorDataset(windows[:300], targets[:300])
for epoch in range(4):
    epoch_loss, seen = 0.0, 0
    for window, target in torch.utils.data.DataLoader(train, 30, shuffle=True):
        loss = nn.functional.l1_loss(model(window), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        epoch_loss += loss.item() * len(target)
        seen += len(target)
    print(f"epoch {epoch}: mae {epoch_loss / seen:.3f}")
