import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

# ---- data: daily closes -> denoised -> windows ------------------------------------
np.random.seed(3)
torch.manual_seed(3)

days = pd.date_range("2015-01-01", periods=700, freq="B")
drift = np.cumsum(np.random.normal(0.02, 0.5, len(days)))
season = 6 * np.sin(np.arange(len(days)) / 25.0)
frame = pd.DataFrame({"close": 100 + drift + season, "volume": np.random.lognormal(3, 0.3, len(days))}, index=days)
frame["smooth"] = frame["close"].ewm(span=4).mean()
frame["ret"] = frame["smooth"].pct_change().fillna(0.0)
frame["vol_z"] = (frame["volume"] - frame["volume"].mean()) / frame["volume"].std()
frame["level"] = (frame["smooth"] - frame["smooth"].mean()) / frame["smooth"].std()

LOOKBACK = 8
FEATURES = ["level", "ret", "vol_z"]


def windows(df):
    values = df[FEATURES].values.astype("float32")
    x = np.stack([values[i:i + LOOKBACK] for i in range(len(values) - LOOKBACK)])
    y = values[LOOKBACK:, 0]
    return torch.from_numpy(x), torch.from_numpy(y)


train_x, train_y = windows(frame.iloc[:560])
test_x, test_y = windows(frame.iloc[560:])
train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=60, shuffle=True)


# ---- stacked autoencoder features + LSTM ------------------------------------------
class Autoencoder(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, n_hidden), nn.Tanh())
        self.decoder = nn.Linear(n_hidden, n_in)

    def forward(self, x):
        return self.decoder(self.encoder(x))


class PriceLSTM(nn.Module):
    def __init__(self, encoder, n_feat, n_hidden):
        super().__init__()
        self.encoder = encoder
        self.lstm = nn.LSTM(n_feat, n_hidden, num_layers=2, batch_first=True)
        self.fc = nn.Linear(n_hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(self.encoder(x))
        return self.fc(out[:, -1, :])


ae = Autoencoder(len(FEATURES), 10)
ae_opt = torch.optim.Adam(ae.parameters(), lr=1e-2)
flat = train_x.reshape(-1, len(FEATURES))
for _ in range(60):
    ae_opt.zero_grad()
    nn.functional.mse_loss(ae(flat), flat).backward()
    ae_opt.step()

model = PriceLSTM(ae.encoder, 10, 24)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(25):
    model.train()
    losses = []
    for batch, target in train_loader:
        optimizer.zero_grad()
        out = model(batch)
        loss = criterion(out.view(len(target)), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch % 6 == 0:
        print("epoch {} loss {:.4f}".format(epoch, np.mean(losses)))

model.eval()
with torch.no_grad():
    pred = model(test_x).squeeze(1)
print("test mse   {:.4f}".format(((pred - test_y) ** 2).mean().item()))
print("pred range {:.3f} .. {:.3f}".format(pred.min().item(), pred.max().item()))
print("true range {:.3f} .. {:.3f}".format(test_y.min().item(), test_y.max().item()))
