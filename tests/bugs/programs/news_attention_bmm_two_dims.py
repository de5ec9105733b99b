import torch
import torch.nn as nn
import torch.nn.functional as F


class WordAttention(nn.Module):
    def __init__(self, hidden, att_size):
        super().__init__()
        self.proj = nn.Linear(hidden, att_size)
        self.context = nn.Linear(att_size, 1, bias=False)

    def forward(self, outputs):
        u = torch.tanh(self.proj(outputs))
        weights = F.softmax(self.context(u).squeeze(-1), dim=1)
        pooled = torch.bmm(weights, outputs)
        return pooled.squeeze(1), weights


class HANLite(nn.Module):
    def __init__(self, vocab, emb, hidden, att_size, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.gru = nn.GRU(emb, hidden, bidirectional=True, batch_first=True)
        self.att = WordAttention(2 * hidden, att_size)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, words):
        outputs, _ = self.gru(self.emb(words))
        sentence, weights = self.att(outputs)
        return self.fc(sentence), weights


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.han = HANLite(vocab=500, emb=20, hidden=15, att_size=12, classes=4)

    def forward(self, words):
        return self.han(words)


def example_inputs():
    return (torch.randint(0, 500, (7, 13)),)
