import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

random.seed(15)
torch.manual_seed(15)
PAD_ID, NUM_WORDS, NUM_TAGS = 0, 60, 6
tag_of = {w: random.randrange(1, NUM_TAGS) for w in range(1, NUM_WORDS)}

sentences = []
for _ in range(600):
    words = [random.randrange(1, NUM_WORDS) for _ in range(random.randint(2, 30))]
    sentences.append((words, [tag_of[w] for w in words]))


def collate(batch):
    words = pad_sequence([torch.tensor(w) for w, _ in batch], batch_first=True, padding_value=PAD_ID)
    tags = pad_sequence([torch.tensor(t) for _, t in batch], batch_first=True, padding_value=PAD_ID)
    return words, tags


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(NUM_WORDS, 16, padding_idx=PAD_ID)
        self.lstm = nn.LSTM(16, 24, batch_first=True)
        self.out = nn.Linear(24, NUM_TAGS)

    def forward(self, words):
        hidden, _ = self.lstm(self.emb(words))
        return self.out(hidden)


loader = DataLoader(sentences, batch_size=30, shuffle=True, collate_fn=collate)
model = Tagger()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(5):
    model.train()
    running = 0.0
    for words, tags in loader:
        logits = model(words)
        loss = criterion(logits.reshape(-1, NUM_TAGS), tags.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: loss {running / len(loader):.4f}")
