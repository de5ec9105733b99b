import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import mean_absolute_error

torch.manual_seed(0)
np.random.seed(0)

WINDOW = 24

# %%
t = np.arange(1500)
series = np.sin(2 * np.pi * t / 24) + 0.3 * np.sin(2 * np.pi * t / 168) + 0.1 * np.random.randn(len(t))
series = series.astype(np.float32)


def make_windows(values, window):
    xs, ys = [], []
    for i in range(len(values) - window):
        xs.append(values[i : i + window])
        ys.append(values[i + window])
    return torch.from_numpy(np.stack(xs)).unsqueeze(-1), torch.from_numpy(np.array(ys)).unsqueeze(-1)


split = 1200
x_train, y_train = make_windows(series[:split], WINDOW)
x_test, y_test = make_windows(series[split:], WINDOW)


# %%
class LSTMForecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


model = LSTMForecaster()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

# %%
for epoch in range(5):
    model.train()
    perm = torch.randperm(len(x_train))
    for idx in perm.split(64):
        optimizer.zero_grad()
        loss = loss_fn(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")

# %%
model.eval()
predictions = model(x_test)
y_pred = predictions.detach().numpy()
y_true = y_test.numpy()
print("MAE:", mean_absolute_error(y_true, y_pred))
