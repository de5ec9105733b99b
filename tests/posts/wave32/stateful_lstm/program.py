import numpy as np
import torch
import torch.nn as nn

# Forecast an autoregressive series from consecutive chunks.
# The LSTM is stateful: the state at the end of one chunk is where the next chunk begins,
# and it is reset at the start of each epoch.

chunk_len = 12
num_tracks = 16
h1 = 32
num_layers = 2
num_epochs = 8
learning_rate = 5e-3
dtype = torch.float


class LSTM(nn.Module):
    def __init__(self, input_dim, hidden_dim, batch_size, output_dim=1, num_layers=2):
        super(LSTM, self).__init__()
        self.input_dim = input_dim
        self.hidden_dim = hidden_dim
        self.batch_size = batch_size
        self.num_layers = num_layers
        self.lstm = nn.LSTM(self.input_dim, self.hidden_dim, self.num_layers)
        self.linear = nn.Linear(self.hidden_dim, output_dim)
        self.hidden = self.init_hidden()

    def init_hidden(self):
        return (torch.zeros(self.num_layers, self.batch_size, self.hidden_dim),
                torch.zeros(self.num_layers, self.batch_size, self.hidden_dim))

    def forward(self, chunk):
        # chunk: (time, batch, features)
        lstm_out, self.hidden = self.lstm(chunk)
        return self.linear(lstm_out).squeeze(-1)


def ar_tracks(n_steps, n_tracks, seed):
    rng = np.random.RandomState(seed)
    x = np.zeros((n_steps + 40, n_tracks))
    x[:40] = rng.randn(40, n_tracks)
    for t in range(40, n_steps + 40):
        x[t] = 0.3 * x[t - 1] + 0.65 * x[t - 20] + 0.2 * rng.randn(n_tracks)
    return torch.tensor(x[40:], dtype=dtype)


def chunks(series):
    for s in range(0, series.size(0) - 1 - chunk_len, chunk_len):
        yield series[s:s + chunk_len].unsqueeze(-1), series[s + 1:s + chunk_len + 1]


torch.manual_seed(2)
train_series = ar_tracks(600, num_tracks, 0)
test_series = ar_tracks(240, num_tracks, 1)

model = LSTM(1, h1, batch_size=num_tracks, output_dim=1, num_layers=num_layers)
loss_fn = nn.MSELoss()
optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)

hist = np.zeros(num_epochs)
for t in range(num_epochs):
    model.train()
    model.hidden = model.init_hidden()
    losses = []
    for X, y in chunks(train_series):
        model.hidden = tuple(h.detach() for h in model.hidden)
        y_pred = model(X)
        loss = loss_fn(y_pred, y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    hist[t] = np.mean(losses)

    model.eval()
    model.hidden = model.init_hidden()
    with torch.no_grad():
        test = np.mean([loss_fn(model(X), y).item() for X, y in chunks(test_series)])
    print("Epoch ", t, "MSE: ", round(hist[t], 4), "test MSE: ", round(float(test), 4))
