import torch
import torch.nn as nn


class Model(nn.Module):
    """GRU language model; returns the training loss."""

    def __init__(self, ntoken=55, ninp=24, nhid=24):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.GRU(ninp, nhid, num_layers=2, batch_first=True, dropout=0.2)
        self.decoder = nn.Linear(nhid, ntoken)
        self.decoder.weight = self.encoder.weight
        self.criterion = nn.CrossEntropyLoss()
        self.init_weights()

    def init_weights(self, initrange=0.1):
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, inputs, targets):
        emb = self.drop(self.encoder(inputs))
        output, _ = self.rnn(emb)
        logits = self.decoder(self.drop(output))
        B, T, V = logits.shape
        logits = logits.view(B, V, T)
        return self.criterion(logits, targets)


def example_inputs():
    tokens = torch.randint(0, 55, (5, 21))
    return tokens[:, :-1], tokens[:, 1:]
