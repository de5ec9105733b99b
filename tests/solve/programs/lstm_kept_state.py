import torch
import torch.nn as nn


class SentimentLSTM(nn.Module):
    def __init__(self, vocab_size=50, embed=8, hidden=8, batch_size=4):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed)
        self.lstm = nn.LSTM(embed, hidden, num_layers=2, batch_first=True)
        self.fc = nn.Linear(hidden, 1)
        self.register_buffer("h0", torch.zeros(2, batch_size, hidden))
        self.register_buffer("c0", torch.zeros(2, batch_size, hidden))

    def forward(self, tokens):
        x = self.embedding(tokens)
        out, (h, c) = self.lstm(x, (self.h0, self.c0))
        return torch.sigmoid(self.fc(out[:, -1]))
