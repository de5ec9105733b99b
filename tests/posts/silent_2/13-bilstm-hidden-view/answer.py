import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class BiLSTMClassifier(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim, num_classes, dropout=0.2):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(hidden_dim * 2, num_classes)

    def forward(self, text):
        embedded = self.dropout(self.embedding(text))
        output, (hidden, cell) = self.lstm(embedded)
        hidden = torch.cat([hidden[0], hidden[1]], dim=1)
        return self.fc(self.dropout(hidden))


def binary_task(n, vocab_size, seq_len):
    text = torch.randint(2, vocab_size, (n, seq_len))
    label = (text[:, -1] > vocab_size // 2).long()
    return TensorDataset(text, label)


def accuracy(model, loader, device):
    model.eval()
    right = 0
    with torch.no_grad():
        for text, label in loader:
            pred = model(text.to(device)).argmax(dim=1).cpu()
            right += (pred == label).sum().item()
    return right / len(loader.dataset)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--vocab-size", type=int, default=60)
    ap.add_argument("--hidden-dim", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch-size", type=int, default=32)
    args = ap.parse_args()

    torch.manual_seed(5)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_iter = DataLoader(binary_task(512, args.vocab_size, 10), args.batch_size, shuffle=True)
    test_iter = DataLoader(binary_task(128, args.vocab_size, 10), args.batch_size)
    model = BiLSTMClassifier(args.vocab_size, 24, args.hidden_dim, 2).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss().to(device)
    for epoch in range(args.epochs):
        model.train()
        for text, label in train_iter:
            optimizer.zero_grad()
            predictions = model(text.to(device))
            loss = criterion(predictions, label.to(device))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
        acc = accuracy(model, test_iter, device)
        print(f"Epoch: {epoch + 1:02} | Loss: {loss.item():.3f} | Test Acc: {acc * 100:.2f}%")


if __name__ == "__main__":
    main()
