import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

POSITIVE = ['great', 'lovely', 'superb', 'funny', 'moving']
NEGATIVE = ['boring', 'awful', 'weak', 'noisy', 'silly']
NEUTRAL = ['the', 'movie', 'was', 'a', 'plot', 'with', 'actors', 'and', 'music', 'scene', 'of', 'story']
VOCAB = {w: i + 1 for i, w in enumerate(POSITIVE + NEGATIVE + NEUTRAL)}


class ReviewDataset(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            label = rng.randint(0, 1)
            words = [rng.choice(NEUTRAL) for _ in range(rng.randint(4, 40))]
            for _ in range(max(1, len(words) // 8)):
                words[rng.randrange(len(words))] = rng.choice(POSITIVE if label else NEGATIVE)
            self.items.append(([VOCAB[w] for w in words], label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        tokens, label = self.items[i]
        return torch.tensor(tokens), label


def collate(batch):
    tokens, labels = zip(*batch)
    lengths = torch.tensor([len(t) for t in tokens])
    return pad_sequence(tokens, batch_first=True), lengths, torch.tensor(labels)


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, bidirectional=True, dropout=0.1):
        super().__init__()
        self.bidirectional = bidirectional
        self.rnn = nn.LSTM(input_size, hidden_size, batch_first=True, bidirectional=bidirectional)
        self.drop = nn.Dropout(dropout)
        self.out_size = hidden_size * (2 if bidirectional else 1)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, (final, _) = self.rnn(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        states = self.drop(states)
        sentence = torch.cat([final[-2], final[-1]], dim=-1) if self.bidirectional else final[-1]
        return states, sentence


class Classifier(nn.Module):
    def __init__(self, vocab_size, emb_dim=32, hidden_size=48):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, emb_dim, padding_idx=0)
        self.encoder = RNN(emb_dim, hidden_size)
        self.clf = nn.Linear(self.encoder.out_size, 2)

    def forward(self, tokens, lengths):
        _, sentence = self.encoder(self.embed(tokens), lengths)
        return self.clf(sentence)


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for tokens, lengths, labels in loader:
            correct += (model(tokens, lengths).argmax(1) == labels).sum().item()
            total += len(labels)
    return correct / total


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(ReviewDataset(1600, 0), batch_size=32, shuffle=True, collate_fn=collate)
    valid_loader = DataLoader(ReviewDataset(400, 1), batch_size=32, collate_fn=collate)
    model = Classifier(len(VOCAB) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(5):
        model.train()
        running = 0.0
        for tokens, lengths, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(tokens, lengths), labels)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f'epoch {epoch}: loss {running / len(train_loader):.4f}, valid acc {evaluate(model, valid_loader):.3f}')


if __name__ == '__main__':
    main()
