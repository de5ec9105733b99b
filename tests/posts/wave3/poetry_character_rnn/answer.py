import torch
import torch.nn as nn


class PoetryRNN(nn.Module):
    """Next character, the state is carried over by the caller."""

    def __init__(self, n_chars=96, embed_size=15, hidden_size=25, num_layers=2):
        super(PoetryRNN, self).__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.embedding = nn.Embedding(n_chars, embed_size)
        self.rnn = nn.RNN(embed_size, hidden_size, num_layers, batch_first=True)
        self.decoder = nn.Linear(hidden_size, n_chars)

    def init_hidden(self, batch_size):
        weight = next(self.parameters())
        return weight.new_zeros(self.num_layers, batch_size, self.hidden_size)

    def forward(self, chars, hidden):
        x = self.embedding(chars)
        o, hidden = self.rnn(x, hidden)
        return self.decoder(o), hidden


class Reader(nn.Module):
    def __init__(self):
        super(Reader, self).__init__()
        self.model = PoetryRNN()

    def forward(self, text):
        hidden = self.model.init_hidden(text.size(0))
        scores, hidden = self.model(text, hidden)
        return scores
