import random
from collections import Counter

import torch
from torch import nn
from torch.utils.data import DataLoader

random.seed(0)
torch.manual_seed(0)

SPAM = "win free prize claim cash now urgent call offer text".split()
HAM = "home dinner see you later ok meeting tomorrow love thanks".split()
BOTH = "the a to is at on i we and".split()


def make_message():
    label = random.random() < 0.4
    pool = (SPAM if label else HAM) + BOTH
    return " ".join(random.choice(pool) for _ in range(random.randint(4, 14))), int(label)


messages = [make_message() for _ in range(600)]
train_msgs, test_msgs = messages[:480], messages[480:]

counter = Counter(w for text, _ in train_msgs for w in text.split())
vocab = {"<unk>": 0}
for word, _ in counter.most_common():
    vocab[word] = len(vocab)


def encode(text):
    return [vocab.get(w, 0) for w in text.split()]


def collate(batch):
    tokens, offsets, labels = [], [], []
    for text, label in batch:
        offsets.append(len(tokens))
        tokens.extend(encode(text))
        labels.append(label)
    labels = torch.tensor(labels, dtype=torch.long)
    return torch.tensor(tokens), torch.tensor(offsets), labels


train_loader = DataLoader(train_msgs, batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(test_msgs, batch_size=32, collate_fn=collate)


class SpamBag(nn.Module):
    def __init__(self, vocab_size, dim=16):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab_size, dim, mode="mean")
        self.fc = nn.Linear(dim, 1)

    def forward(self, tokens, offsets):
        return self.fc(self.bag(tokens, offsets))


model = SpamBag(len(vocab))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)

for epoch in range(4):
    model.train()
    total = 0.0
    for tokens, offsets, labels in train_loader:
        logits = model(tokens, offsets)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    print(f"epoch {epoch}: loss {total / len(train_msgs):.4f}")

model.eval()
right = 0
with torch.no_grad():
    for tokens, offsets, labels in test_loader:
        pred = (torch.sigmoid(model(tokens, offsets)) > 0.5).float()
        right += (pred == labels).sum().item()
print(f"test accuracy {right / len(test_msgs):.3f}")
