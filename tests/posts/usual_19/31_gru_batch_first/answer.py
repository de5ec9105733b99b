import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
VOCAB_SIZE = 100
SEQ_LEN = 12
NEGATION = 7


def make_dataset(n):
    tokens = torch.randint(10, VOCAB_SIZE, (n, SEQ_LEN))
    labels = torch.randint(0, 2, (n,))
    for i in range(n):
        if labels[i] == 1:
            tokens[i, torch.randint(0, SEQ_LEN - 1, (1,))] = NEGATION
    return TensorDataset(tokens, labels)


class GRUClassifier(nn.Module):
    def __init__(self, vocab_size, embed_dim=32, hidden_dim=64, num_classes=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.gru = nn.GRU(embed_dim, hidden_dim, batch_first=True)
        self.fc = nn.Linear(hidden_dim, num_classes)

    def forward(self, tokens):
        embedded = self.embedding(tokens)
        out, _ = self.gru(embedded)
        return self.fc(out[:, -1])


def accuracy(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for tokens, labels in loader:
            hits += (model(tokens).argmax(-1) == labels).sum().item()
    return hits / len(loader.dataset)


train_loader = DataLoader(make_dataset(1500), batch_size=32, shuffle=True)
test_loader = DataLoader(make_dataset(300), batch_size=32)
model = GRUClassifier(VOCAB_SIZE)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(8):
    model.train()
    for tokens, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(tokens), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: test accuracy {accuracy(model, test_loader):.3f}")
