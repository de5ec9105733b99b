import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ChurnModel(nn.Module):
    def __init__(self, num_numeric, cardinalities, emb_dim=4):
        super().__init__()
        self.embs = nn.ModuleList(nn.Embedding(c, emb_dim) for c in cardinalities)
        self.mlp = nn.Sequential(
            nn.Linear(num_numeric + emb_dim * len(cardinalities), 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, numeric, cats):
        parts = [emb(cats[:, i]) for i, emb in enumerate(self.embs)]
        out = self.mlp(torch.cat([numeric, *parts], dim=1))
        return torch.sigmoid(out).squeeze(1)


torch.manual_seed(16)
numeric = torch.randn(1000, 4)
cats = torch.stack([torch.randint(0, 5, (1000,)), torch.randint(0, 8, (1000,))], dim=1)
churn = ((numeric[:, 0] + (cats[:, 0] == 2).float() * 2 - 0.5) > 0).float()

train = TensorDataset(numeric[:800], cats[:800], churn[:800])
test = TensorDataset(numeric[800:], cats[800:], churn[800:])
train_loader = DataLoader(train, batch_size=32, shuffle=True)
test_loader = DataLoader(test, batch_size=100)

model = ChurnModel(4, [5, 8])
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(10):
    model.train()
    for num, cat, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(num, cat), y)
        loss.backward()
        optimizer.step()

    model.eval()
    loss_sum, correct = 0.0, 0
    with torch.no_grad():
        for num, cat, y in test_loader:
            prob = model(num, cat)
            loss_sum += criterion(prob, y).item() * len(y)
            correct += ((prob > 0.5).float() == y).sum().item()
    print(f"epoch {epoch} test loss {loss_sum / len(test):.4f} acc {correct / len(test):.3f}")
