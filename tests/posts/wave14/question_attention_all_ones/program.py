import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

FILLER = list(range(1, 21))
N_RELATIONS = 8
VOCAB = 1 + len(FILLER) + N_RELATIONS


def questions(n, rng):
    """one word of each question tells the relation, the others are filler"""
    seqs, labels = [], []
    for _ in range(n):
        rel = int(rng.integers(N_RELATIONS))
        words = rng.choice(FILLER, size=rng.integers(7, 13)).tolist()
        words[int(rng.integers(len(words)))] = 1 + len(FILLER) + rel
        seqs.append(torch.tensor(words))
        labels.append(rel)
    return seqs, torch.tensor(labels)


class EmbedVector(nn.Module):
    def __init__(self, d_embed=24, d_hidden=24, d_out=16):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, d_embed, padding_idx=0)
        self.lstm = nn.LSTM(d_embed, d_hidden, num_layers=1, bidirectional=True)
        self.attn = nn.Sequential(nn.Linear(2 * d_hidden + d_embed, 16), nn.Tanh(), nn.Linear(16, 1))
        self.hidden2tag = nn.Sequential(
            nn.Linear(2 * d_hidden + d_embed, 2 * d_hidden), nn.BatchNorm1d(2 * d_hidden), nn.ReLU(),
            nn.Linear(2 * d_hidden, d_out))
        self.weights = None

    def forward(self, text):
        length, batch = text.shape
        x = self.embed(text)
        outputs, _ = self.lstm(x)
        x = x.reshape(length * batch, -1)
        outputs = outputs.reshape(length * batch, -1)
        attn_weights = F.softmax(self.attn(torch.cat((x, outputs), 1)), dim=1)
        attn_applied = (attn_weights * outputs).view(length, batch, -1)
        self.weights = attn_weights.view(length, batch).detach()
        joined = torch.cat((x.view(length, batch, -1), attn_applied), 2)
        tags = self.hidden2tag(joined.reshape(length * batch, -1)).view(length, batch, -1)
        return tags.mean(dim=0)


def main():
    torch.manual_seed(4)
    rng = np.random.default_rng(4)
    relation_vectors = F.normalize(torch.randn(N_RELATIONS, 16), dim=1)
    model = EmbedVector()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loss_fn = nn.MSELoss()
    for step in range(1, 201):
        seqs, labels = questions(32, rng)
        predicted = model(pad_sequence(seqs))
        loss = loss_fn(predicted, relation_vectors[labels])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print('step %d loss %.5f' % (step, loss.item()))

    model.eval()
    with torch.no_grad():
        seqs, labels = questions(200, rng)
        predicted = model(pad_sequence(seqs))
        nearest = torch.cdist(predicted, relation_vectors).argmin(dim=1)
    w = model.weights
    print('accuracy %.3f' % (nearest == labels).float().mean().item())
    print('attention weights: min %.4f max %.4f' % (w.min().item(), w.max().item()))


if __name__ == '__main__':
    main()
