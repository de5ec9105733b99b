import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class ChurnModel(nn.Module):
    def __init__(self, in_features, hidden=64, p=0.2):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(in_features, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Dropout(p),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x)


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr=1e-3):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for features, churn in self.train_loader:
            self.optimizer.zero_grad()
            logits = self.model(features).squeeze(1)
            loss = self.criterion(logits, churn)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(features)
        return total / len(self.train_loader.dataset)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        scores, labels = [], []
        for features, churn in self.val_loader:
            scores.append(torch.sigmoid(self.model(features)).squeeze(1))
            labels.append(churn)
        scores, labels = torch.cat(scores), torch.cat(labels)
        return ((scores > 0.5).float() == labels).float().mean().item()


torch.manual_seed(0)
X = torch.randn(800, 12)
y = (X[:, 0] + X[:, 3] > 0).float()
train_set, val_set = random_split(TensorDataset(X, y), [640, 160])
trainer = Trainer(ChurnModel(12), DataLoader(train_set, 32, shuffle=True), DataLoader(val_set, 32))
for epoch in range(5):
    loss = trainer.train_epoch()
    print(f"epoch {epoch} loss {loss:.4f} acc {trainer.evaluate():.3f}")
