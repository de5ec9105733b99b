import random
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, DataLoader

random.seed(0)
torch.manual_seed(0)

INTENTS = {
    'book flight': ['book a flight to {}', 'i need a ticket to {}', 'fly me to {} tomorrow'],
    'weather': ['what is the weather in {}', 'will it rain in {} today', 'forecast for {}'],
    'hotel': ['find a hotel in {}', 'i want a room in {} please', 'cheap hostel near {}'],
}
CITIES = ['paris', 'rome', 'berlin', 'tokyo', 'oslo', 'madrid', 'lima', 'cairo']


def build_corpus(n):
    names = list(INTENTS)
    rows = []
    for _ in range(n):
        k = random.randrange(len(names))
        rows.append((random.choice(INTENTS[names[k]]).format(random.choice(CITIES)), k))
    return rows


class Vocab:
    def __init__(self, sentences):
        words = sorted({w for s in sentences for w in s.split()})
        self.words = words
        self.pad, self.unk = 0, 1
        self.stoi = {w: i + 2 for i, w in enumerate(words)}

    def __len__(self):
        return len(self.words) + 2

    def encode(self, s):
        return [self.stoi.get(w, self.unk) for w in s.split()]


class IntentData(Dataset):
    def __init__(self, rows, vocab):
        self.rows, self.vocab = rows, vocab

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, label = self.rows[i]
        return torch.tensor(self.vocab.encode(text)), label


def collate(batch):
    xs, ys = zip(*batch)
    return pad_sequence(xs, batch_first=True), torch.tensor(ys)


class IntentGRU(nn.Module):
    def __init__(self, vocab_size, n_classes, dim=32, hidden=48):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.gru = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, n_classes)

    def forward(self, x):
        emb = self.embedding(x)
        _, h = self.gru(emb)
        return self.fc(torch.cat([h[0], h[1]], dim=1))


train_rows, dev_rows = build_corpus(300), build_corpus(60)
vocab = Vocab([t for t, _ in train_rows])
train_dl = DataLoader(IntentData(train_rows, vocab), batch_size=20, shuffle=True, collate_fn=collate)
dev_dl = DataLoader(IntentData(dev_rows, vocab), batch_size=20, collate_fn=collate)

model = IntentGRU(len(vocab), len(INTENTS))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
ce = nn.CrossEntropyLoss()

for epoch in range(3):
    model.train()
    for x, y in train_dl:
        opt.zero_grad()
        loss = ce(model(x), y)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        ok = sum((model(x).argmax(1) == y).sum().item() for x, y in dev_dl)
    print(f'epoch {epoch}: dev acc {ok / len(dev_rows):.3f}')
