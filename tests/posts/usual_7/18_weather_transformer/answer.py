import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

# ===== Data =====
np.random.seed(0)
n_days = 1200
day = np.arange(n_days)
season = np.sin(2 * np.pi * day / 365.25)
df = pd.DataFrame({
    'temp': 12 + 9 * season + np.random.randn(n_days) * 1.5,
    'dew': 6 + 7 * season + np.random.randn(n_days) * 1.5,
    'pressure': 1013 + 5 * np.random.randn(n_days),
    'wind': np.abs(4 + 2 * np.random.randn(n_days)),
    'cloud': np.clip(0.5 - 0.2 * season + 0.2 * np.random.randn(n_days), 0, 1),
    'rain': np.random.exponential(1.5, n_days),
    'sun': np.clip(8 + 4 * season + np.random.randn(n_days), 0, 16),
})
train_df, test_df = df[:960], df[960:]
mean, std = train_df.mean(), train_df.std()
train_arr = ((train_df - mean) / std).values.astype('float32')
test_arr = ((test_df - mean) / std).values.astype('float32')


class WeatherWindows(Dataset):
    def __init__(self, arr, window, horizon):
        self.arr, self.window, self.horizon = arr, window, horizon

    def __len__(self):
        return len(self.arr) - self.window - self.horizon + 1

    def __getitem__(self, i):
        j = i + self.window
        x = torch.from_numpy(self.arr[i:j])
        y = torch.from_numpy(self.arr[j:j + self.horizon, 0])
        return x, y


# ===== Model =====
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=500):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-np.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term[:d_model // 2])
        self.register_buffer('pe', pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class WeatherTransformer(nn.Module):
    def __init__(self, feature_size, horizon, num_layers=2, dropout=0.1):
        super().__init__()
        self.pos_encoder = PositionalEncoding(feature_size)
        layer = nn.TransformerEncoderLayer(d_model=feature_size, nhead=feature_size, dim_feedforward=64,
                                           dropout=dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=num_layers)
        self.decoder = nn.Linear(feature_size, horizon)

    def forward(self, x):
        h = self.encoder(self.pos_encoder(x))
        return self.decoder(h[:, -1])


# ===== Training =====
WINDOW, HORIZON, BATCH = 30, 3, 64
torch.manual_seed(0)
train_loader = DataLoader(WeatherWindows(train_arr, WINDOW, HORIZON), batch_size=BATCH, shuffle=True)
test_loader = DataLoader(WeatherWindows(test_arr, WINDOW, HORIZON), batch_size=BATCH)

model = WeatherTransformer(feature_size=df.shape[1], horizon=HORIZON)
criterion = nn.MSELoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)

for epoch in range(4):
    model.train()
    total = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.7)
        optimizer.step()
        total += loss.item() * len(x)
    print('epoch', epoch, 'train mse', round(total / len(train_loader.dataset), 4))

model.eval()
err = 0
with torch.no_grad():
    for x, y in test_loader:
        err += (model(x) - y).abs().sum().item()
mae = err / (len(test_loader.dataset) * HORIZON) * std['temp']
print('test MAE: %.2f degrees' % mae)
