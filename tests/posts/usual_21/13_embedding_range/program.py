import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

random.seed(0)
torch.manual_seed(0)

SPORT = "match goal team player coach season league win score ball".split()
FINANCE = "bank stock market profit share trade price bond rate fund".split()
COMMON = "the a in on for after said new year today".split()
MAX_LEN = 12


def make_headline(topic):
    pool = SPORT if topic == 0 else FINANCE
    words = random.choices(pool, k=random.randint(2, 5)) + random.choices(COMMON, k=random.randint(2, 5))
    random.shuffle(words)
    return words


def encode(words, vocab):
    ids = [vocab.get(w, vocab["<unk>"]) for w in words][:MAX_LEN]
    return ids + [vocab["<pad>"]] * (MAX_LEN - len(ids))


class HeadlineModel(nn.Module):
    def __init__(self, num_words, dim, num_classes):
        super().__init__()
        self.embedding = nn.Embedding(num_words, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, 64, kernel_size=3, padding=1)
        self.fc = nn.Linear(64, num_classes)

    def forward(self, ids):
        x = self.embedding(ids).transpose(1, 2)
        x = torch.relu(self.conv(x))
        return self.fc(x.max(dim=2).values)


topics = [random.randint(0, 1) for _ in range(400)]
headlines = [make_headline(t) for t in topics]

words = sorted({w for h in headlines for w in h})
vocab = {"<pad>": 0, "<unk>": 1}
for w in words:
    vocab[w] = len(vocab)

ids = torch.tensor([encode(h, vocab) for h in headlines])
loader = DataLoader(TensorDataset(ids, torch.tensor(topics)), batch_size=40, shuffle=True)

model = HeadlineModel(len(words), 32, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(4):
    for batch_ids, batch_topics in loader:
        optimizer.zero_grad()
        loss = criterion(model(batch_ids), batch_topics)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
