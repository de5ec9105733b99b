import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import Dataset, DataLoader

TOPICS = ["sport", "politics", "science", "business"]


class HeadlineDataset(Dataset):
    def __init__(self, n, vocab_size=400, length=12, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, len(TOPICS), (n,), generator=g)
        common = torch.randint(200, vocab_size, (n, length), generator=g)
        topical = torch.randint(0, 50, (n, length), generator=g) + 50 * self.labels[:, None]
        use_topical = torch.rand(n, length, generator=g) < 0.25
        self.tokens = torch.where(use_topical, topical, common)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        return self.tokens[idx], self.labels[idx]


class TextCNN(nn.Module):
    def __init__(self, vocab_size, num_classes, dim=32, channels=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim)
        self.convs = nn.ModuleList([nn.Conv1d(dim, channels, k, padding=k // 2) for k in (1, 3, 5)])
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(3 * channels, num_classes)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, tokens):
        x = self.embedding(tokens).transpose(1, 2)
        x = torch.cat([torch.relu(conv(x)).amax(dim=2) for conv in self.convs], dim=1)
        x = self.fc(self.dropout(x))
        return self.softmax(x)


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = optim.Adam(model.parameters(), lr=lr)

    def fit(self, train_loader, test_loader, epochs):
        for epoch in range(1, epochs + 1):
            self.model.train()
            total = 0.0
            for tokens, labels in train_loader:
                self.optimizer.zero_grad()
                outputs = self.model(tokens)
                loss = self.criterion(outputs, labels)
                loss.backward()
                self.optimizer.step()
                total += loss.item() * labels.size(0)
            acc = self.score(test_loader)
            print(f"Epoch {epoch}: loss {total / len(train_loader.dataset):.4f}, test acc {acc:.3f}")

    @torch.no_grad()
    def score(self, loader):
        self.model.eval()
        correct = 0
        for tokens, labels in loader:
            correct += (self.model(tokens).argmax(dim=1) == labels).sum().item()
        return correct / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(HeadlineDataset(800), batch_size=32, shuffle=True)
    test_loader = DataLoader(HeadlineDataset(200, seed=1), batch_size=32)
    Trainer(TextCNN(400, len(TOPICS))).fit(train_loader, test_loader, epochs=8)
