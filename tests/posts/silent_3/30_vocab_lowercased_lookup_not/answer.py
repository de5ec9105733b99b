import random
from collections import Counter

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PAD, UNK = "<pad>", "<unk>"
PLACES = ["Berlin", "Lyon", "Osaka", "Quito", "Accra", "Turin", "Perth", "Leeds"]
TEAMS = ["Falcons", "Rovers", "Wanderers", "Sharks", "Comets", "Bears"]
FIRMS = ["Norvik", "Altamar", "Zenbu", "Corvex", "Hexal", "Lumora"]
SPORT = ["{t} win late in {p}", "{t} lose the cup in {p}", "New coach for {t} in {p}"]
MONEY = ["{f} to open office in {p}", "{f} cuts jobs in {p}", "New chief for {f} in {p}"]
TOWN = ["Rain to stay over {p}", "New bridge for {p}", "Storm moves in on {p}"]


def headline(rnd):
    label = rnd.randrange(3)
    template = rnd.choice((SPORT, MONEY, TOWN)[label])
    text = template.format(t=rnd.choice(TEAMS), f=rnd.choice(FIRMS), p=rnd.choice(PLACES))
    if rnd.random() < 0.4:
        text = " ".join(w for w in text.split() if rnd.random() > 0.4 or w[0].isupper()) or text
    return text, label


class Vocab:
    def __init__(self, texts, min_freq=2):
        counts = Counter(token for text in texts for token in text.lower().split())
        self.itos = [PAD, UNK] + [w for w, c in counts.most_common() if c >= min_freq]
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def encode(self, text, max_len=8):
        ids = [self.stoi.get(token, self.stoi[UNK]) for token in text.lower().split()][:max_len]
        return ids + [self.stoi[PAD]] * (max_len - len(ids))


class Headlines(Dataset):
    def __init__(self, rows, vocab):
        self.rows, self.vocab = rows, vocab

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, label = self.rows[i]
        return torch.tensor(self.vocab.encode(text)), label


class TextCNN(nn.Module):
    def __init__(self, vocab_size, dim=32, n_classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(dim, 24, k, padding=k // 2) for k in (1, 3)])
        self.out = nn.Linear(48, n_classes)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        return self.out(torch.cat([torch.relu(c(x)).amax(dim=2) for c in self.convs], dim=1))


rnd = random.Random(0)
torch.manual_seed(0)
train_rows = [headline(rnd) for _ in range(1500)]
test_rows = [headline(rnd) for _ in range(400)]
vocab = Vocab([t for t, _ in train_rows])
train_loader = DataLoader(Headlines(train_rows, vocab), batch_size=32, shuffle=True)
test_loader = DataLoader(Headlines(test_rows, vocab), batch_size=100)
model = TextCNN(len(vocab))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
print(f"vocabulary of {len(vocab)} words")

for epoch in range(8):
    model.train()
    total = 0.0
    for ids, labels in train_loader:
        loss = nn.functional.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        hits = sum((model(ids).argmax(1) == labels).sum().item() for ids, labels in test_loader)
    print(f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}  test accuracy {hits / len(test_rows):.3f}")
