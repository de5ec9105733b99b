import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

TOPICS = ["world", "sports", "business", "tech"]


class NewsDataset(Dataset):
    """Headlines already turned into ids; some words are typical of a topic."""

    def __init__(self, n, vocab_size=2000, length=20, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, len(TOPICS), (n,), generator=g)
        self.ids = torch.randint(100, vocab_size, (n, length), generator=g)
        topical = torch.randint(1, 25, (n, 3), generator=g) + 25 * self.labels.unsqueeze(1)
        self.ids[:, 5:8] = topical

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.ids[i], self.labels[i]


class NewsClassifier(nn.Module):
    def __init__(self, vocab_size=2000, embed_dim=64, hidden=64, num_classes=4):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.gru = nn.GRU(embed_dim, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(
            nn.Linear(2 * hidden, hidden),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(hidden, num_classes),
        )

    def forward(self, ids):
        out, _ = self.gru(self.embedding(ids))
        return self.head(out.mean(dim=1))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(NewsDataset(800), batch_size=32, shuffle=True)
    test_loader = DataLoader(NewsDataset(200, seed=1), batch_size=64)

    model = NewsClassifier(num_classes=len(TOPICS)).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(1, 7):
        model.train()
        total_loss = 0.0
        for ids, labels in train_loader:
            ids, labels = ids.to(device), labels.to(device)
            optimizer.zero_grad()
            outputs = model(ids)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            total_loss += loss.item() * ids.size(0)

        model.eval()
        correct = 0
        with torch.no_grad():
            for ids, labels in test_loader:
                ids, labels = ids.to(device), labels.to(device)
                correct += (model(ids).argmax(dim=1) == labels).sum().item()
        print(f"Epoch {epoch}: train loss {total_loss / len(train_loader.dataset):.4f}, "
              f"test acc {correct / len(test_loader.dataset):.3f}")


if __name__ == "__main__":
    main()
