import re
import torch
import torch.nn as nn
from collections import Counter
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, DataLoader

tickets = [
    ("my package never arrived and nobody answers", 0),
    ("where is my parcel", 0),
    ("the delivery is late again", 0),
    ("tracking number does not work for my order", 0),
    ("i was charged twice this month", 1),
    ("please refund the second payment", 1),
    ("the invoice shows a wrong amount and i want a refund", 1),
    ("credit card payment failed", 1),
    ("i cannot log in to my account", 2),
    ("password reset link expired", 2),
    ("the app logs me out every time i open it on my phone", 2),
    ("account locked", 2),
] * 10


def tokenize(s):
    return re.findall(r"[a-z]+", s.lower())


counter = Counter(w for s, _ in tickets for w in tokenize(s))
vocab = {"<pad>": 0, "<unk>": 1}
for w, _ in counter.most_common():
    vocab[w] = len(vocab)


class TicketDataset(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        sentence, label = self.rows[i]
        ids = [vocab.get(w, vocab["<unk>"]) for w in tokenize(sentence)]
        return torch.tensor(ids), torch.tensor(label)


def pad_batch(batch):
    ids, labels = zip(*batch)
    return pad_sequence(ids, batch_first=True, padding_value=vocab["<pad>"]), torch.stack(labels)


class TicketGRU(nn.Module):
    def __init__(self, vocab_size, n_classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, 24, padding_idx=0)
        self.gru = nn.GRU(24, 32, batch_first=True)
        self.out = nn.Linear(32, n_classes)

    def forward(self, ids):
        lengths = (ids != 0).sum(1)
        states, _ = self.gru(self.embed(ids))
        last = states[torch.arange(len(ids)), lengths - 1]
        return self.out(last)


torch.manual_seed(0)
loader = DataLoader(TicketDataset(tickets), batch_size=8, shuffle=True, collate_fn=pad_batch)
model = TicketGRU(len(vocab))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(5):
    epoch_loss = 0
    for ids, labels in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(ids), labels)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    print(epoch, epoch_loss / len(loader))
