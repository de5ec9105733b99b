import torch
from torch import nn


class CharRNN(nn.Module):
    def __init__(self, n_chars, n_hidden, n_layers):
        super().__init__()
        self.n_hidden = n_hidden
        self.n_layers = n_layers
        self.encoder = nn.Embedding(n_chars, n_hidden)
        self.rnn = nn.LSTM(n_hidden, n_hidden, n_layers, batch_first=True, dropout=0.2)
        self.decoder = nn.Linear(n_hidden, n_chars)

    def init_hidden(self, batch_size):
        weight = next(self.parameters())
        shape = (batch_size, self.n_layers, self.n_hidden)
        return weight.new_zeros(shape), weight.new_zeros(shape)

    def forward(self, chars, hidden):
        x = self.encoder(chars)
        out, hidden = self.rnn(x, hidden)
        return self.decoder(out), hidden


class Model(nn.Module):
    """What the training loop does with one batch."""

    def __init__(self):
        super().__init__()
        self.rnn = CharRNN(n_chars=65, n_hidden=32, n_layers=2)

    def forward(self, inputs):
        hidden = self.rnn.init_hidden(inputs.size(0))
        logits, (h, _) = self.rnn(inputs, hidden)
        return logits, h


def example_inputs():
    return (torch.randint(0, 65, (6, 20)),)
