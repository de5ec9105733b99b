# %%
import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import mean_absolute_error

np.random.seed(0)
torch.manual_seed(0)

# %%
days = np.arange(730)
demand = 100 + 20 * np.sin(2 * np.pi * days / 365) + 8 * np.sin(2 * np.pi * days / 7)
demand += np.random.randn(730) * 3
split = 600
mean, std = demand[:split].mean(), demand[:split].std()
series = torch.tensor((demand - mean) / std, dtype=torch.float32)

window = 28
X = torch.stack([series[i : i + window] for i in range(len(series) - window)]).unsqueeze(-1)
y = series[window:]
X_train, y_train = X[: split - window], y[: split - window]
X_test, y_test = X[split - window :], y[split - window :]

# %%
class LSTMForecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1]).squeeze(-1)


model = LSTMForecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.MSELoss()

# %%
for epoch in range(15):
    perm = torch.randperm(len(X_train))
    for idx in perm.split(64):
        optimizer.zero_grad()
        loss = criterion(model(X_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}, loss {loss.item():.4f}")

# %%
model.eval()
pred = model(X_test)
pred = pred.numpy() * std + mean
true = y_test.numpy() * std + mean
print("MAE: %.2f units" % mean_absolute_error(true, pred))
naive = demand[split - 7 : 730 - 7]
print("seasonal naive MAE: %.2f units" % mean_absolute_error(demand[split:], naive))
