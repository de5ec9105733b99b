import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
CHARS = ["<pad>", "<go>"] + sorted(set("".join(MONTHS) + "0123456789 -"))
INDEX = {c: i for i, c in enumerate(CHARS)}


def encode(text):
    return torch.tensor([INDEX[c] for c in text])


class Dates(Dataset):
    """'07 mar 1998' -> '1998-03-07'"""

    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.pairs = []
        for _ in range(n):
            d, m, y = rnd.randint(1, 28), rnd.randint(1, 12), rnd.randint(1990, 2029)
            self.pairs.append((f"{d:02d} {MONTHS[m - 1]} {y}", f"{y}-{m:02d}-{d:02d}"))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        source, target = self.pairs[i]
        return encode(source), encode(target)


class Encoder(nn.Module):
    def __init__(self, n_chars, emb, hidden):
        super().__init__()
        self.embedding = nn.Embedding(n_chars, emb, padding_idx=0)
        self.gru = nn.GRU(emb, hidden, batch_first=True, bidirectional=True)

    def forward(self, source):
        _, state = self.gru(self.embedding(source))
        return state.sum(dim=0, keepdim=True)


class Decoder(nn.Module):
    def __init__(self, n_chars, emb, hidden):
        super().__init__()
        self.embedding = nn.Embedding(n_chars, emb, padding_idx=0)
        self.gru = nn.GRU(emb, hidden, batch_first=True)
        self.out = nn.Linear(hidden, n_chars)

    def forward(self, previous, state):
        features, state = self.gru(self.embedding(previous), state)
        return self.out(features), state


class Translator(nn.Module):
    def __init__(self, n_chars, emb=24, hidden=64):
        super().__init__()
        self.encoder = Encoder(n_chars, emb, hidden)
        self.decoder = Decoder(n_chars, emb, hidden)

    def forward(self, source, target):
        state = self.encoder(source)
        go = torch.full((len(target), 1), INDEX["<go>"])
        logits, _ = self.decoder(torch.cat([go, target[:, :-1]], dim=1), state)
        return logits

    @torch.no_grad()
    def translate(self, source, steps=10):
        state = self.encoder(source)
        token = torch.full((len(source), 1), INDEX["<go>"])
        produced = []
        for _ in range(steps):
            logits, state = self.decoder(token, state)
            token = logits.argmax(-1)
            produced.append(token)
        return torch.cat(produced, dim=1)


torch.manual_seed(0)
train_loader = DataLoader(Dates(2400, 0), batch_size=32, shuffle=True)
test_loader = DataLoader(Dates(128, 1), batch_size=32)
model = Translator(len(CHARS))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(7):
    model.train()
    for source, target in train_loader:
        logits = model(source, target)
        loss = criterion(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()
    exact = sum((model.translate(s) == t).all(1).sum().item() for s, t in test_loader)
    print(f"epoch {epoch}: loss {loss.item():.3f}, exact {exact}/128")
