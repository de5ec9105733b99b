"""Binary sentiment classifier with an LSTM."""
import argparse

import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split


class ReviewDataset(Dataset):
    def __init__(self, n=256, vocab_size=1000, seq_len=40):
        g = torch.Generator().manual_seed(1)
        self.tokens = torch.randint(1, vocab_size, (n, seq_len), generator=g)
        self.labels = (self.tokens.float().mean(dim=1) > vocab_size / 2).float()

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i], self.labels[i]


class SentimentLSTM(nn.Module):
    def __init__(self, vocab_size, embed_dim=64, hidden_dim=64):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.lstm = nn.LSTM(embed_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(hidden_dim * 2, 1)

    def forward(self, x):
        emb = self.embedding(x)
        _, (h, _) = self.lstm(emb)
        h = torch.cat([h[-2], h[-1]], dim=1)
        return self.fc(self.dropout(h)).squeeze(1)


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    total, correct, seen = 0.0, 0, 0
    for tokens, labels in loader:
        optimizer.zero_grad()
        logits = model(tokens)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * labels.size(0)
        correct += ((logits > 0).float() == labels).sum().item()
        seen += labels.size(0)
    return total / seen, correct / seen


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    total, correct, seen = 0.0, 0, 0
    for tokens, labels in loader:
        logits = model(tokens)
        total += criterion(logits, labels).item() * labels.size(0)
        correct += ((logits > 0).float() == labels).sum().item()
        seen += labels.size(0)
    return total / seen, correct / seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--vocab-size", type=int, default=1000)
    args = parser.parse_args()

    torch.manual_seed(0)
    dataset = ReviewDataset(vocab_size=args.vocab_size)
    train_set, val_set = random_split(dataset, [200, 56])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = SentimentLSTM(args.vocab_size)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        tr_loss, tr_acc = train_one_epoch(model, train_loader, criterion, optimizer)
        va_loss, va_acc = evaluate(model, val_loader, criterion)
        print(f"{epoch}: train {tr_loss:.4f}/{tr_acc:.3f}  val {va_loss:.4f}/{va_acc:.3f}")


if __name__ == "__main__":
    main()
