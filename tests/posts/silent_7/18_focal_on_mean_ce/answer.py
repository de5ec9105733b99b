import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import average_precision_score, recall_score
from torch.utils.data import DataLoader, TensorDataset


def transactions(n, seed, fraud_rate=0.02):
    g = torch.Generator().manual_seed(seed)
    y = (torch.rand(n, generator=g) < fraud_rate).long()
    x = torch.randn(n, 10, generator=g)
    ring = torch.randn(n, 2, generator=g)
    ring = ring / ring.norm(dim=1, keepdim=True) * 2.2
    x[:, :2] = torch.where(y[:, None] == 1, ring + 0.25 * x[:, :2], x[:, :2])
    x[:, 2] += 2.0 * y
    return x, y


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=None):
        super().__init__()
        self.gamma = gamma
        self.register_buffer("alpha", alpha)

    def forward(self, logits, target):
        ce = F.cross_entropy(logits, target, weight=self.alpha, reduction="none")
        pt = torch.exp(-ce)
        return ((1 - pt) ** self.gamma * ce).mean()


class FraudNet(nn.Module):
    def __init__(self, n_in, hidden=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 2),
        )

    def forward(self, x):
        return self.net(x)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        prob = F.softmax(model(x), dim=1)[:, 1].numpy()
    return average_precision_score(y.numpy(), prob), recall_score(y.numpy(), prob > 0.5), prob.mean()


torch.manual_seed(0)
x_train, y_train = transactions(6000, seed=0)
x_test, y_test = transactions(8000, seed=1)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=100, shuffle=True)

model = FraudNet(x_train.shape[1])
criterion = FocalLoss(gamma=2.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(12):
    model.train()
    running = 0.0
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    ap, recall, mean_prob = evaluate(model, x_test, y_test)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2d}  focal {running / len(loader):.5f}  AP {ap:.3f}  recall {recall:.3f}  mean p {mean_prob:.3f}")
