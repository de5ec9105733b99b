import torch
import torch.nn as nn


class GruRNN(nn.Module):
    """Reads characters and says for every one which punctuation (or capital) belongs after it."""

    def __init__(self, input_size=100, hidden_size=64, output_size=10, batch_first=True, bi=True, layers=2):
        super(GruRNN, self).__init__()
        self.hidden_size = hidden_size
        self.batch_first = batch_first
        self.layers = layers
        self.bi_mul = 2 if bi else 1

        self.encoder = nn.Linear(input_size, hidden_size)
        self.gru = nn.GRU(input_size, hidden_size, layers, bidirectional=bi)
        self.decoder = nn.Linear(hidden_size * self.bi_mul, output_size)
        self.softmax = nn.LogSoftmax(dim=2)

    def init_hidden(self, batch_size):
        return torch.zeros(self.layers * self.bi_mul, batch_size, self.hidden_size)

    def forward(self, x, hidden):
        if self.batch_first:
            x = x.transpose(0, 1)
        seq_length, batch_size = x.size(0), x.size(1)
        gru_output, hidden = self.gru(x, hidden)
        if self.batch_first:
            gru_output = gru_output.transpose(0, 1)
        output = self.decoder(gru_output.contiguous().view(-1, self.hidden_size * self.bi_mul))
        output = output.view(batch_size, seq_length, -1) if self.batch_first else output.view(seq_length, batch_size, -1)
        return self.softmax(output), hidden


class Punctuator(nn.Module):
    def __init__(self, n_chars=100, n_marks=10):
        super(Punctuator, self).__init__()
        self.n_chars = n_chars
        self.model = GruRNN(n_chars, 64, n_marks)

    def embed(self, text):
        return torch.nn.functional.one_hot(text, self.n_chars).float()

    def forward(self, text):
        # text (batch, characters)
        hidden = self.model.init_hidden(text.size(0))
        log_probs, _ = self.model(self.embed(text), hidden)
        return log_probs
