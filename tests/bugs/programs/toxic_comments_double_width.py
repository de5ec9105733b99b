import torch
from torch import nn
from torch.nn import functional as F


class ToxicNet(nn.Module):
    def __init__(self, vocab_size, embed_size, hidden_size, num_targets, dropout=0.3):
        super(ToxicNet, self).__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.embedding_dropout = nn.Dropout2d(dropout)
        self.lstm = nn.LSTM(
            embed_size, hidden_size, bidirectional=True, batch_first=True
        )
        self.linear1 = nn.Linear(hidden_size * 2, hidden_size)
        self.linear_out = nn.Linear(hidden_size, num_targets)

    def forward(self, x):
        h_embedding = self.embedding(x)
        # spatial dropout: whole embedding channels
        h_embedding = h_embedding.transpose(1, 2).unsqueeze(3)
        h_embedding = self.embedding_dropout(h_embedding).squeeze(3).transpose(1, 2)

        h_lstm, _ = self.lstm(h_embedding)
        avg_pool = torch.mean(h_lstm, 1)
        max_pool, _ = torch.max(h_lstm, 1)

        h_conc = torch.cat((max_pool, avg_pool), 1)
        h_hidden = F.relu(self.linear1(h_conc))
        return self.linear_out(h_hidden)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = ToxicNet(400, embed_size=50, hidden_size=24, num_targets=6)

    def forward(self, tokens):
        return torch.sigmoid(self.net(tokens))


def example_inputs():
    return (torch.randint(0, 400, (6, 35)),)
