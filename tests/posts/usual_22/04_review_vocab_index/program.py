import argparse
from collections import Counter

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

REVIEWS = [
    ("the movie was great and fun", 1),
    ("a boring plot and terrible acting", 0),
    ("loved the cast and the music", 1),
    ("i would not watch it again", 0),
    ("great music and a great ending", 1),
    ("terrible movie with a slow start", 0),
] * 8


def build_vocab(texts):
    counter = Counter()
    for text in texts:
        counter.update(text.split())
    vocab = {"<pad>": 0, "<unk>": 1}
    for word in sorted(counter):
        vocab[word] = len(vocab)
    return vocab, len(counter)


class SentimentLSTM(nn.Module):
    def __init__(self, vocab_size, embed_dim=32, hidden_dim=64):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.lstm = nn.LSTM(embed_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden_dim, 2)

    def forward(self, tokens):
        mask = (tokens != 0).unsqueeze(-1)
        out, _ = self.lstm(self.embedding(tokens))
        pooled = (out * mask).sum(dim=1) / mask.sum(dim=1)
        return self.fc(pooled)


def main(args):
    torch.manual_seed(args.seed)
    vocab, vocab_size = build_vocab([text for text, _ in REVIEWS])

    def collate(batch):
        ids = [torch.tensor([vocab.get(w, vocab["<unk>"]) for w in text.split()]) for text, _ in batch]
        labels = torch.tensor([label for _, label in batch])
        return pad_sequence(ids, batch_first=True, padding_value=0), labels

    loader = DataLoader(REVIEWS, batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    model = SentimentLSTM(vocab_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        total = 0.0
        for tokens, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(tokens), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
