# Support ticket routing with a small DistilBERT trained from scratch
import random
from collections import Counter

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW
from torch.utils.data import DataLoader, Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification

random.seed(42)
torch.manual_seed(42)

TOPICS = {
    "billing": "invoice refund charge card payment price".split(),
    "login": "password account locked reset email code".split(),
    "shipping": "parcel late courier address tracking box".split(),
}
FILLER = "please my the help with is a i have was to and today again".split()
NAMES = list(TOPICS)


def make_ticket(topic):
    words = random.choices(FILLER, k=random.randint(4, 10)) + random.choices(TOPICS[topic], k=3)
    random.shuffle(words)
    return " ".join(words)


tickets = [(make_ticket(t), NAMES.index(t)) for t in random.choices(NAMES, k=240)]

counts = Counter(w for text, _ in tickets for w in text.split())
vocab = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2}
for w, _ in counts.most_common():
    vocab[w] = len(vocab)


class TicketDataset(Dataset):
    def __init__(self, rows, max_len=16):
        self.rows, self.max_len = rows, max_len

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, label = self.rows[i]
        ids = [2] + [vocab.get(w, 1) for w in text.split()][: self.max_len - 1]
        mask = [1] * len(ids) + [0] * (self.max_len - len(ids))
        ids = ids + [0] * (self.max_len - len(ids))
        return {
            "input_ids": torch.tensor(ids),
            "attention_mask": torch.tensor(mask),
            "label": torch.tensor(label),
        }


train_dl = DataLoader(TicketDataset(tickets[:200]), batch_size=20, shuffle=True)
valid_dl = DataLoader(TicketDataset(tickets[200:]), batch_size=20)

config = DistilBertConfig(vocab_size=len(vocab), dim=64, n_layers=2, n_heads=4, hidden_dim=128,
                          max_position_embeddings=32, num_labels=len(NAMES))
model = DistilBertForSequenceClassification(config)
criterion = nn.CrossEntropyLoss()
optimizer = AdamW(model.parameters(), lr=1e-3)


def forward_batch(batch):
    outputs = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    return outputs


for epoch in range(3):
    model.train()
    train_loss = 0
    for batch in train_dl:
        optimizer.zero_grad()
        preds = forward_batch(batch)
        loss = criterion(preds, batch["label"])
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        train_loss += loss.item()

    model.eval()
    hits = 0
    with torch.no_grad():
        for batch in valid_dl:
            preds = forward_batch(batch)
            hits += (preds.argmax(dim=-1) == batch["label"]).sum().item()
    print(epoch, round(train_loss / len(train_dl), 4), hits / len(valid_dl.dataset))
