import numpy as np
import pandas as pd
import torch
import torch.nn as nn

# --------------------------- hyper parameters ---------------------------
seq_len = 20
input_dim = 1
hidden_dim = 32
num_layers = 2
output_dim = 1
num_epochs = 8

# --------------------------- data ---------------------------
np.random.seed(7)
dates = pd.bdate_range("2021-01-04", periods=600)
close = 100 * np.exp(np.cumsum(np.random.normal(0.0003, 0.012, len(dates))))
pd.DataFrame({"Date": dates, "Close": close.round(2)}).to_csv("AMZN.csv", index=False)

df = pd.read_csv("AMZN.csv", parse_dates=["Date"], index_col="Date")
price = df[["Close"]].values.astype("float32")

n_test = int(0.2 * len(price))
lo, hi = price[:-n_test].min(), price[:-n_test].max()
price = 2 * (price - lo) / (hi - lo) - 1


def load_data(stock, look_back):
    data = []
    for i in range(len(stock) - look_back):
        data.append(stock[i: i + look_back + 1])
    data = np.array(data)
    x_train, y_train = data[:-n_test, :-1, :], data[:-n_test, -1, :]
    x_test, y_test = data[-n_test:, :-1, :], data[-n_test:, -1, :]
    return [x_train, y_train, x_test, y_test]


x_train, y_train, x_test, y_test = [torch.from_numpy(a) for a in load_data(price, seq_len)]
print('x_train.shape = ', x_train.shape)
print('y_train.shape = ', y_train.shape)


# --------------------------- model ---------------------------
class LSTM(nn.Module):
    def __init__(self, input_dim, hidden_dim, num_layers, output_dim):
        super(LSTM, self).__init__()
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.lstm = nn.LSTM(input_dim, hidden_dim, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_dim, output_dim)

    def init_hidden(self, batch_size):
        h0 = torch.zeros(1, batch_size, self.hidden_dim)
        c0 = torch.zeros(1, batch_size, self.hidden_dim)
        return h0, c0

    def forward(self, x):
        hidden = self.init_hidden(x.size(0))
        out, hidden = self.lstm(x, hidden)
        out = self.fc(out[:, -1, :])
        return out


torch.manual_seed(7)
model = LSTM(input_dim=input_dim, hidden_dim=hidden_dim, output_dim=output_dim, num_layers=num_layers)
loss_fn = torch.nn.MSELoss()
optimiser = torch.optim.Adam(model.parameters(), lr=0.01)

# --------------------------- training ---------------------------
hist = np.zeros(num_epochs)
for t in range(num_epochs):
    y_train_pred = model(x_train)
    loss = loss_fn(y_train_pred, y_train)
    hist[t] = loss.item()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
print("MSE per epoch: ", hist.round(4))

# --------------------------- test ---------------------------
model.eval()
with torch.no_grad():
    y_test_pred = model(x_test)
to_price = lambda z: (z.numpy() + 1) / 2 * (hi - lo) + lo
rmse = np.sqrt(np.mean((to_price(y_test_pred) - to_price(y_test)) ** 2))
print('Test RMSE: %.2f' % rmse)
