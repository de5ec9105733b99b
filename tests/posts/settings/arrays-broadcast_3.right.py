# line 27: MAPE subtracts the joined column of forecasts (n, 1) from the sales (n,): a table of n x n errors
import numpy as np
import torch
from torch import nn


class SalesLSTM(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


def mape(actual, forecast):
    return 100 * np.mean(np.abs((actual - forecast) / actual))


def forecast_all(model, windows, batch=50):
    model.eval()
    pieces = []
    with torch.no_grad():
        for chunk in windows.split(batch):
            pieces.append(model(chunk).cpu().numpy())
    return np.concatenate(pieces)[:, 0]


rng = np.random.default_rng(50)
weeks = np.arange(260)
sales = (10 + 3 * np.sin(weeks * 2 * np.pi / 52) + 0.3 * rng.normal(size=260)).astype(np.float32)
x = np.lib.stride_tricks.sliding_window_view(sales[:-1], 8)[..., None].copy() / 10
y = sales[8:]
torch.manual_seed(50)
x_train, y_train = torch.from_numpy(x[:200]), torch.from_numpy(y[:200]) / 10
model = SalesLSTM()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(8):
    model.train()
    for rows in torch.randperm(200).split(40):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x_train[rows]), y_train[rows].unsqueeze(1))
        loss.backward()
        opt.step()
predicted = forecast_all(model, torch.from_numpy(x[200:])) * 10
print("test MAPE %.2f%%" % mape(y[200:], predicted))
