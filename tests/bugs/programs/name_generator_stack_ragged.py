import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

ALPHABET = "_abcdefghijklmnopqrstuvwxyz"
NAMES = ["emma", "oliver", "ava", "isabella", "noah"]


def encode(name):
    return torch.tensor([ALPHABET.index(ch) for ch in name])


def collate(names):
    seqs = [encode(n) for n in names]
    lengths = torch.tensor([len(s) for s in seqs])
    batch = torch.stack(seqs)
    return batch, lengths


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(27, 16, padding_idx=0)
        self.rnn = nn.GRU(16, 64, batch_first=True)
        self.fc = nn.Linear(64, 27)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.fc(h)


def main(temperature):
    x, lengths = collate(NAMES)
    model = CharModel()
    logits = model(x[:, :-1]) / temperature
    targets = x[:, 1:]
    loss = nn.functional.cross_entropy(
        logits.reshape(-1, 27), targets.reshape(-1), ignore_index=0
    )
    return logits, loss, lengths


def example_inputs():
    return (torch.tensor(0.8),)
