import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

VOCAB_SIZE = 50
SEQ_LEN = 30


def make_reviews(n, seed):
    g = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, VOCAB_SIZE, (n, SEQ_LEN), generator=g)
    labels = torch.randint(0, 2, (n,), generator=g)
    tokens[:, 0] = 2 + labels
    return tokens, labels


class ReviewClassifier(nn.Module):
    def __init__(self, vocab_size, embed_dim=16, hidden_dim=32, num_classes=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.rnn = nn.GRU(embed_dim, hidden_dim, bidirectional=True)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(2 * hidden_dim, num_classes)

    def encode(self, tokens):
        embedded = self.embedding(tokens.t())
        outputs, h_n = self.rnn(embedded)
        return torch.cat([h_n[-2], h_n[-1]], dim=1)

    def forward(self, tokens):
        return self.fc(self.dropout(self.encode(tokens)))


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total, correct, seen = 0.0, 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for tokens, labels in loader:
            logits = model(tokens)
            loss = criterion(logits, labels)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * labels.size(0)
            correct += (logits.argmax(1) == labels).sum().item()
            seen += labels.size(0)
    return total / seen, correct / seen


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(TensorDataset(*make_reviews(512, 0)), batch_size=32, shuffle=True)
    test_loader = DataLoader(TensorDataset(*make_reviews(256, 1)), batch_size=64)

    model = ReviewClassifier(VOCAB_SIZE)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(5):
        train_loss, train_acc = run_epoch(model, train_loader, criterion, optimizer)
        test_loss, test_acc = run_epoch(model, test_loader, criterion)
        print(f"epoch {epoch}: train {train_loss:.4f} / {train_acc:.3f}  test {test_loss:.4f} / {test_acc:.3f}")


if __name__ == "__main__":
    main()
