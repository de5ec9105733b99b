import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

random.seed(5)
torch.manual_seed(5)

LABELS = {"complaint": 0, "praise": 1, "question": 2}
WORDS = {
    "complaint": "late again cancelled crowded cold dirty rude refund stuck missed".split(),
    "praise": "thanks friendly clean punctual comfortable helpful lovely smooth great quiet".split(),
    "question": "when where which platform ticket bicycle dog price timetable how".split(),
}
FILLER = "the train to from at my seat station conductor morning is was i a on".split()


def make_message():
    label = random.choice(list(LABELS))
    length = random.randint(4, 15)
    words = [random.choice(WORDS[label]) if random.random() < 0.3 else random.choice(FILLER) for _ in range(length)]
    return " ".join(words), LABELS[label]


messages = [make_message() for _ in range(900)]

# vocabulary: 0 = <pad>, 1 = <unk>
vocab = {}
for text, _ in messages[:700]:
    for word in text.split():
        if word not in vocab:
            vocab[word] = len(vocab) + 2
print("words:", len(vocab))


class MessageDataset(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, label = self.rows[i]
        ids = [vocab.get(w, 1) for w in text.split()]
        return torch.tensor(ids), label


def pad_batch(batch):
    ids, labels = zip(*batch)
    return pad_sequence(ids, batch_first=True, padding_value=0), torch.tensor(labels)


train_dl = DataLoader(MessageDataset(messages[:700]), batch_size=32, shuffle=True, collate_fn=pad_batch)
valid_dl = DataLoader(MessageDataset(messages[700:]), batch_size=64, collate_fn=pad_batch)


class MessageClassifier(nn.Module):
    def __init__(self, vocab_size, emb_dim=32, hidden=48, n_classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, emb_dim, padding_idx=0)
        self.gru = nn.GRU(emb_dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, n_classes)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, ids):
        x = self.emb(ids)
        h, _ = self.gru(x)
        h = h.max(dim=1).values
        return self.out(h)


model = MessageClassifier(vocab_size=len(vocab) + 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(1, 7):
    model.train()
    losses = []
    for ids, labels in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(ids), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    model.eval()
    hits = 0
    with torch.no_grad():
        for ids, labels in valid_dl:
            hits += (model(ids).argmax(1) == labels).sum().item()
    print(f"{epoch:2d}  loss {sum(losses) / len(losses):.3f}  valid acc {hits / 200:.3f}")
