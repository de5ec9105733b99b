import torch
import torch.nn as nn

torch.set_printoptions(precision=3)


class Model(nn.Module):
    def __init__(self, vocab_size=2000, emb_dim=60, hidden=50, n_tags=9):
        super().__init__()
        self.hidden = hidden
        self.embeds = nn.Embedding(vocab_size, emb_dim)
        self.lstm1 = nn.LSTM(emb_dim, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.3)
        self.lstm2 = nn.LSTM(hidden, hidden, batch_first=True, bidirectional=True)
        self.hidden2tag = nn.Linear(hidden * 2, n_tags)

    def forward(self, sentence):
        embedded = self.embeds(sentence)
        out, _ = self.lstm1(embedded)
        out = self.drop(out)
        out, _ = self.lstm2(out)
        tag_space = self.hidden2tag(out)
        return torch.log_softmax(tag_space, dim=-1)


def example_inputs():
    return (torch.randint(0, 2000, (5, 18)),)
