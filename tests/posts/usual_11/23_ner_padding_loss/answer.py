# Named entities in clinical notes with a BiLSTM tagger
import random

import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

random.seed(3)
torch.manual_seed(3)

TAGS = ["<pad>", "O", "DRUG", "DOSE", "SYMPTOM"]
tag2ix = {t: i for i, t in enumerate(TAGS)}
DRUGS = ["aspirin", "metformin", "ibuprofen", "lisinopril"]
DOSES = ["5mg", "10mg", "500mg", "twice", "daily"]
SYMPTOMS = ["headache", "nausea", "fever", "cough"]
OTHER = ["patient", "reports", "was", "given", "and", "denies", "mild", "for", "since", "the", "with"]


def note():
    words, tags = [], []
    n = random.choice([3, 4, 5, 6, 30])
    for _ in range(n):
        kind = random.choices(["O", "DRUG", "DOSE", "SYMPTOM"], [6, 1, 1, 1])[0]
        pool = {"O": OTHER, "DRUG": DRUGS, "DOSE": DOSES, "SYMPTOM": SYMPTOMS}[kind]
        words.append(random.choice(pool))
        tags.append(kind)
    return words, tags


notes = [note() for _ in range(300)]
vocab = {"<pad>": 0, "<unk>": 1}
for words, _ in notes[:240]:
    for w in words:
        vocab.setdefault(w, len(vocab))


def collate(batch):
    xs = [torch.tensor([vocab.get(w, 1) for w in words]) for words, _ in batch]
    ys = [torch.tensor([tag2ix[t] for t in tags]) for _, tags in batch]
    lengths = torch.tensor([len(x) for x in xs])
    return (pad_sequence(xs, batch_first=True, padding_value=0),
            pad_sequence(ys, batch_first=True, padding_value=tag2ix["<pad>"]), lengths)


class Tagger(nn.Module):
    def __init__(self, n_words, n_tags, emb=32, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(n_words, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, n_tags)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.emb(x), lengths, batch_first=True, enforce_sorted=False)
        h, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.out(h)


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for x, y, lengths in loader:
            pred = model(x, lengths).argmax(-1)
            mask = y != tag2ix["<pad>"]
            correct += (pred == y)[mask].sum().item()
            total += mask.sum().item()
    return correct / total


train_loader = DataLoader(notes[:240], batch_size=16, shuffle=True, collate_fn=collate)
test_loader = DataLoader(notes[240:], batch_size=16, collate_fn=collate)

model = Tagger(len(vocab), len(TAGS))
criterion = nn.CrossEntropyLoss(ignore_index=tag2ix["<pad>"])
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(4):
    model.train()
    losses = []
    for x, y, lengths in train_loader:
        logits = model(x, lengths)
        loss = criterion(logits.reshape(-1, len(TAGS)), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch} loss {np.mean(losses):.4f} token accuracy {evaluate(model, test_loader):.4f}")
