import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
VOCAB, SEQ = 200, 25


class Reviews(Dataset):
    """token ids; reviews with more words from the first half of the vocabulary are positive"""

    def __init__(self, n):
        bias = torch.rand(n, 1)
        low = torch.randint(1, VOCAB // 2, (n, SEQ))
        high = torch.randint(VOCAB // 2, VOCAB, (n, SEQ))
        self.tokens = torch.where(torch.rand(n, SEQ) < bias, low, high)
        self.labels = ((self.tokens < VOCAB // 2).float().mean(1) > 0.4).float()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.tokens[i], self.labels[i]


class SentimentGRU(nn.Module):
    def __init__(self, vocab, emb=32, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=0)
        self.gru = nn.GRU(emb, hidden, batch_first=True)
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.gru(self.embedding(x))
        return self.fc(self.dropout(h[-1]))


def evaluate(model, loader, criterion):
    model.eval()
    loss_sum, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for tokens, labels in loader:
            out = model(tokens)
            loss_sum += criterion(out, labels.unsqueeze(1)).item() * len(labels)
            pred = (out.squeeze(1) > 0).float()
            correct += (pred == labels).sum().item()
            count += len(labels)
    return loss_sum / count, correct / count


train_loader = DataLoader(Reviews(800), batch_size=50, shuffle=True)
val_loader = DataLoader(Reviews(200), batch_size=50)

model = SentimentGRU(VOCAB)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(5):
    model.train()
    for tokens, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(tokens), labels.unsqueeze(1))
        loss.backward()
        optimizer.step()
    val_loss, val_acc = evaluate(model, val_loader, criterion)
    print(f"epoch {epoch} train loss {loss.item():.4f} val loss {val_loss:.4f} val acc {val_acc:.3f}")
