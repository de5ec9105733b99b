import collections
import random
import re

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

GOOD = "wonderful moving funny bright superb warm".split()
BAD = "dull slow awful weak boring flat".split()
FILL = "the film was a story of two people in an old house by sea".split()


def write_review(rng, positive):
    words = rng.choices(FILL, k=rng.randint(6, 30)) + rng.choices(GOOD if positive else BAD, k=3)
    rng.shuffle(words)
    return " ".join(words) + "."


def tokenize(text):
    return re.findall(r"[a-z]+", text.lower())


class Reviews(Dataset):
    def __init__(self, n, seed=0):
        rng = random.Random(seed)
        self.labels = [rng.randint(0, 1) for _ in range(n)]
        self.texts = [write_review(rng, y) for y in self.labels]
        counter = collections.Counter(t for text in self.texts for t in tokenize(text))
        self.vocab = {"<pad>": 0, "<unk>": 1}
        for word, _ in counter.most_common():
            self.vocab[word] = len(self.vocab)

    def __len__(self):
        return len(self.texts)

    def encode(self, text):
        return [self.vocab.get(t, 1) for t in tokenize(text)]

    def __getitem__(self, i):
        return torch.tensor(self.encode(self.texts[i])), torch.tensor(float(self.labels[i]))


def collate(batch):
    tokens, labels = zip(*batch)
    return nn.utils.rnn.pad_sequence(tokens, batch_first=True), torch.stack(labels)


class SentimentGRU(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, 24, padding_idx=0)
        self.gru = nn.GRU(24, 24, batch_first=True)
        self.fc = nn.Linear(24, 1)

    def forward(self, tokens):
        _, h = self.gru(self.embed(tokens))
        return self.fc(h[-1]).squeeze(1)


if __name__ == "__main__":
    torch.manual_seed(0)
    reviews = Reviews(64)
    train_loader = DataLoader(reviews, batch_size=16, shuffle=True)
    model = SentimentGRU(len(reviews.vocab))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(2):
        for tokens, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(tokens), labels)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")
