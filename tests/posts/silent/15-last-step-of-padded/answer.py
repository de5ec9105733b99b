import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Reviews(Dataset):
    def __init__(self, size, vocab=300):
        self.data = []
        for _ in range(size):
            n = random.randint(4, 40)
            label = random.randint(0, 1)
            ids = torch.randint(10, vocab, (n,))
            ids[random.randrange(n)] = 2 + label
            self.data.append((ids, label))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index]


def collate_fn(batch):
    ids = [b[0] for b in batch]
    lengths = torch.tensor([len(s) for s in ids])
    labels = torch.tensor([b[1] for b in batch], dtype=torch.float32)
    return pad_sequence(ids, batch_first=True), lengths, labels


class SentimentGRU(nn.Module):
    def __init__(self, vocab=300, emb=24, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=0)
        self.gru = nn.GRU(emb, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, ids, lengths):
        out, _ = self.gru(self.embedding(ids))
        last = out[torch.arange(ids.size(0)), lengths - 1]
        return self.fc(last).squeeze(1)


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    train_loader = DataLoader(Reviews(400), batch_size=25, shuffle=True, collate_fn=collate_fn)
    test_loader = DataLoader(Reviews(100), batch_size=25, collate_fn=collate_fn)
    model = SentimentGRU()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(4):
        model.train()
        for ids, lengths, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(ids, lengths), labels)
            loss.backward()
            optimizer.step()
        model.eval()
        right = 0
        with torch.no_grad():
            for ids, lengths, labels in test_loader:
                right += ((model(ids, lengths) > 0).float() == labels).sum().item()
        print(f"epoch {epoch} loss {loss.item():.3f} test acc {right}%")
