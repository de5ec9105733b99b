import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SequenceClassifier(nn.Module):
    def __init__(self, n_features, hidden_size, n_classes):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden_size)
        self.fc = nn.Linear(hidden_size, n_classes)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1, :])


torch.manual_seed(23)
seqs = torch.randn(1200, 20, 3)
labels = (seqs[:, 10:, 0].sum(1) > 0).long()

train_loader = DataLoader(TensorDataset(seqs[:1000], labels[:1000]), batch_size=50, shuffle=True)
test_loader = DataLoader(TensorDataset(seqs[1000:], labels[1000:]), batch_size=50)

model = SequenceClassifier(3, 32, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch}: test accuracy {correct / 200:.3f}")
