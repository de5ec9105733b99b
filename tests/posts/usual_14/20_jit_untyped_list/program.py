"""Train a small intent classifier and export it with TorchScript for the C++ service."""
import io
import random
from typing import List

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

TEMPLATES = {
    "weather": ["will it rain {w}", "what is the weather {w}", "is it sunny {w}"],
    "alarm": ["wake me up {w}", "set an alarm for {w}", "alarm at seven {w}"],
    "music": ["play some jazz {w}", "play my playlist", "next song please"],
}
WHEN = ["today", "tomorrow", "on sunday morning", "this evening", "in two hours"]
INTENTS = list(TEMPLATES)


def make_corpus(n, seed):
    rnd = random.Random(seed)
    rows = []
    for _ in range(n):
        intent = rnd.choice(INTENTS)
        rows.append((rnd.choice(TEMPLATES[intent]).format(w=rnd.choice(WHEN)), INTENTS.index(intent)))
    return rows


train_rows, val_rows = make_corpus(400, 1), make_corpus(100, 2)
VOCAB = {"<pad>": 0, "<unk>": 1}
for sentence, _ in train_rows:
    for word in sentence.split():
        VOCAB.setdefault(word, len(VOCAB))


def encode(sentence):
    return torch.tensor([VOCAB.get(w, 1) for w in sentence.split()])


class Utterances(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return encode(self.rows[i][0]), self.rows[i][1]


def collate(batch):
    tokens, labels = zip(*batch)
    lengths = [len(t) for t in tokens]
    return pad_sequence(tokens, batch_first=True), lengths, torch.tensor(labels)


class IntentNet(nn.Module):
    def __init__(self, n_words, n_classes, dim=32):
        super().__init__()
        self.embed = nn.Embedding(n_words, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.fc = nn.Linear(dim, n_classes)

    def forward(self, tokens, lengths):
        h = torch.relu(self.conv(self.embed(tokens).transpose(1, 2)))
        pooled = []
        for i, n in enumerate(lengths):
            pooled.append(h[i, :, :n].mean(dim=1))
        return self.fc(torch.stack(pooled))


torch.manual_seed(0)
train_loader = DataLoader(Utterances(train_rows), batch_size=20, shuffle=True, collate_fn=collate)
val_loader = DataLoader(Utterances(val_rows), batch_size=50, collate_fn=collate)
model = IntentNet(len(VOCAB), len(INTENTS))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(3):
    model.train()
    for tokens, lengths, labels in train_loader:
        loss = nn.functional.cross_entropy(model(tokens, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(t, n).argmax(1) == y).sum().item() for t, n, y in val_loader)
    print(f"epoch {epoch}: loss {loss.item():.3f}, val acc {right / len(val_rows):.2f}")

scripted = torch.jit.script(model.eval())
buffer = io.BytesIO()
torch.jit.save(scripted, buffer)
buffer.seek(0)
service_model = torch.jit.load(buffer)


def predict(sentences: List[str]):
    tokens, lengths, _ = collate([(encode(s), 0) for s in sentences])
    with torch.no_grad():
        return [INTENTS[k] for k in service_model(tokens, lengths).argmax(1).tolist()]


print(predict(["play some jazz tomorrow", "will it rain this evening", "wake me up on sunday morning"]))
