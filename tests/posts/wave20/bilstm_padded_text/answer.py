import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

WORDS = ["<unk>", "<pad>"] + [f"w{i}" for i in range(60)]
PAD = 1


class Titles(Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.rows = []
        for _ in range(n):
            label = rnd.randrange(3)
            ids = [rnd.randrange(8, len(WORDS)) for _ in range(rnd.randint(3, 30))]
            ids[rnd.randrange(len(ids))] = 2 + 2 * label + rnd.randrange(2)
            self.rows.append((torch.tensor(ids), label))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(batch):
    seqs, labels = zip(*batch)
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True, padding_value=PAD), lengths, torch.tensor(labels)


class TextClassifier(nn.Module):
    def __init__(self, vocab_size, emb=32, hidden=32, n_classes=3):
        super().__init__()
        self.embeddings = nn.Embedding(vocab_size, emb)
        self.lstm = nn.LSTM(emb, hidden, num_layers=1, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(2 * hidden, n_classes)

    def forward(self, x, lengths):
        embedded = self.embeddings(x)
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        output, (h_n, c_n) = self.lstm(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        final = torch.cat([h_n[-2], h_n[-1]], dim=1)
        return self.fc(self.dropout(final))


def run_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for x, lengths, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x, lengths), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    return sum((model(x, n).argmax(1) == y).sum().item() for x, n, y in loader) / len(loader.dataset)


@torch.no_grad()
def predict(model, rows):
    model.eval()
    x, lengths, _ = collate(rows)
    return model(x, lengths).softmax(dim=1)


if __name__ == "__main__":
    torch.manual_seed(0)
    train, test = Titles(1200, seed=0), Titles(300, seed=1)
    train_loader = DataLoader(train, batch_size=32, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(test, batch_size=64, collate_fn=collate)
    model = TextClassifier(len(WORDS))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        loss = run_epoch(model, train_loader, criterion, optimizer)
        print(f"epoch {epoch}: loss {loss:.4f} test acc {evaluate(model, test_loader):.3f}")

    for (ids, label), prob in zip(test.rows[:4], predict(model, test.rows[:4])):
        title = " ".join(WORDS[i] for i in ids[:6])
        print(f"{title:32s} label {label} prob {[round(p, 3) for p in prob.tolist()]}")
