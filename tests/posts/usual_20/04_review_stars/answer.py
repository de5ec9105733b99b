import random
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import DataLoader

random.seed(0)
torch.manual_seed(0)

WORDS = ["good", "bad", "great", "awful", "ok", "phone", "battery", "screen", "slow", "fast", "love", "hate"]


def fake_review():
    stars = random.randint(1, 5)
    n = random.randint(4, 12)
    return {"text": " ".join(random.choices(WORDS, k=n)), "stars": stars}


reviews = [fake_review() for _ in range(400)]
vocab = {"<pad>": 0, "<unk>": 1}
for r in reviews:
    for w in r["text"].split():
        vocab.setdefault(w, len(vocab))


def encode(text):
    return torch.tensor([vocab.get(w, 1) for w in text.split()])


def collate(batch):
    encoded = [encode(r["text"]) for r in batch]
    lengths = torch.tensor([len(e) for e in encoded])
    texts = pad_sequence(encoded, batch_first=True)
    labels = torch.tensor([r["stars"] - 1 for r in batch])
    return texts, lengths, labels


class TextClassifier(nn.Module):
    def __init__(self, vocab_size, emb=32, hidden=64, num_classes=5):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb, padding_idx=0)
        self.gru = nn.GRU(emb, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, num_classes)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        _, h = self.gru(packed)
        h = torch.cat([h[0], h[1]], dim=1)
        return self.fc(h)


loader = DataLoader(reviews, batch_size=32, shuffle=True, collate_fn=collate)
model = TextClassifier(len(vocab))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(3):
    epoch_loss = 0
    for texts, lengths, labels in loader:
        logits = model(texts, lengths)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    print("epoch", epoch, "loss", round(epoch_loss / len(loader), 4))
