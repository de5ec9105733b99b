import random
from collections import Counter

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import DataLoader

random.seed(29)
torch.manual_seed(29)

SECTIONS = ["politics", "sport", "science", "culture"]
TOPIC_WORDS = {
    "politics": "minister vote parliament budget treaty senate coalition".split(),
    "sport": "goal coach final league striker transfer medal".split(),
    "science": "telescope vaccine fossil genome quantum orbit reactor".split(),
    "culture": "novel opera gallery festival director premiere museum".split(),
}
FILLER = "the new after old big over says with city first week".split()


def make_headline():
    label = random.randrange(4)
    words = random.choices(TOPIC_WORDS[SECTIONS[label]], k=random.randint(1, 3))
    words += random.choices(FILLER, k=random.randint(2, 6))
    random.shuffle(words)
    return " ".join(words), label


data = [make_headline() for _ in range(800)]
train, test = data[:640], data[640:]

# 0 = padding, 1 = unknown
counts = Counter(w for text, _ in train for w in text.split())
vocab = {w: i + 2 for i, (w, _) in enumerate(counts.most_common())}


def encode(text):
    return torch.tensor([vocab.get(w, 1) for w in text.split()])


def collate(batch):
    ids = [encode(t) for t, _ in batch]
    lengths = torch.tensor([len(x) for x in ids])
    labels = torch.tensor([l for _, l in batch])
    return pad_sequence(ids, batch_first=True, padding_value=0), lengths, labels


class HeadlineGRU(nn.Module):
    def __init__(self, vocab_size, dim=32, hidden=48):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.encoder = nn.GRU(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(SECTIONS))

    def forward(self, ids, lengths):
        emb = self.embedding(ids)
        packed = pack_padded_sequence(emb, lengths, batch_first=True, enforce_sorted=False)
        _, h = self.encoder(packed)
        return self.out(h[-1])


model = HeadlineGRU(len(vocab) + 2)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
train_loader = DataLoader(train, batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(test, batch_size=64, collate_fn=collate)

for epoch in range(3):
    model.train()
    for ids, lengths, labels in train_loader:
        logits = model(ids, lengths)
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    hits = 0
    with torch.no_grad():
        for ids, lengths, labels in test_loader:
            hits += (model(ids, lengths).argmax(1) == labels).sum().item()
    print(f"epoch {epoch}  accuracy {hits / len(test):.3f}")
