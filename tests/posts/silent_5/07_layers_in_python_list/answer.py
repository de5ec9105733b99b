import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split


class DeepNet(nn.Module):
    def __init__(self, width=16, depth=4):
        super().__init__()
        self.inp = nn.Linear(2, width)
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            self.blocks.append(nn.Linear(width, width))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = F.relu(self.inp(x))
        for block in self.blocks:
            x = F.relu(block(x))
        return self.out(x).squeeze(-1)


X, y = make_moons(1000, noise=0.15, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
X_train, X_test = torch.tensor(X_train).float(), torch.tensor(X_test).float()
y_train, y_test = torch.tensor(y_train).float(), torch.tensor(y_test).float()

model = DeepNet()
print("parameters:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(200):
    model.train()
    optimizer.zero_grad()
    loss = criterion(model(X_train), y_train)
    loss.backward()
    optimizer.step()
    if (epoch + 1) % 50 == 0:
        model.eval()
        with torch.no_grad():
            acc = ((model(X_test) > 0).float() == y_test).float().mean().item()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}, test acc {acc:.3f}")
