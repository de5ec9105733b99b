import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        ce = F.cross_entropy(logits, target, reduction="none")
        pt = torch.exp(-ce)
        return ((1 - pt) ** self.gamma * ce).mean()


X, y = make_classification(n_samples=4000, n_features=20, n_informative=6, n_classes=3,
                           weights=[0.9, 0.07, 0.03], class_sep=0.8, random_state=5)
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(y)
train_ds = TensorDataset(X[:3000], y[:3000])
train_loader = DataLoader(train_ds, batch_size=128, shuffle=True)

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 3))
criterion = FocalLoss(gamma=2.0)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for epoch in range(15):
    model.train()
    epoch_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(xb)
    if epoch % 5 == 4:
        model.eval()
        with torch.no_grad():
            pred = model(X[3000:]).argmax(dim=1)
        score = balanced_accuracy_score(y[3000:].numpy(), pred.numpy())
        print(f"epoch {epoch + 1}: loss {epoch_loss / len(train_ds):.4f}, balanced accuracy {score:.3f}")
