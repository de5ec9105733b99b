import torch
import torch.nn as nn


class LoadRNN(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, horizon):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, horizon)

    def init_hidden(self, batch_size):
        shape = (self.num_layers, batch_size, self.hidden_size)
        return torch.zeros(shape), torch.zeros(shape)

    def forward(self, x):
        hidden = self.init_hidden(x.size(1))
        out, hidden = self.lstm(x, hidden)
        # last time step only
        return self.fc(out[:, -1, :])


class Model(nn.Module):
    """Electric load of the next three hours."""

    def __init__(self):
        super().__init__()
        self.rnn = LoadRNN(input_size=5, hidden_size=20, num_layers=2, horizon=3)

    def forward(self, x):
        return self.rnn(x)


def example_inputs():
    return (torch.randn(16, 24, 5),)
