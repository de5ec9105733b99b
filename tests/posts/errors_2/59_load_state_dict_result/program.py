import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

torch.manual_seed(0)
X, y = load_iris(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
X_tr, X_te = torch.tensor(X_tr, dtype=torch.float32), torch.tensor(X_te, dtype=torch.float32)
y_tr, y_te = torch.tensor(y_tr), torch.tensor(y_te)


class IrisNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.fc1 = nn.Linear(4, hidden)
        self.drop = nn.Dropout(0.2)
        self.fc2 = nn.Linear(hidden, 3)

    def forward(self, x):
        return self.fc2(self.drop(F.relu(self.fc1(x))))


def train(path, epochs=60):
    net = IrisNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    best = float("inf")
    for epoch in range(epochs):
        net.train()
        opt.zero_grad()
        loss = F.cross_entropy(net(X_tr), y_tr)
        loss.backward()
        opt.step()
        if loss.item() < best:
            best = loss.item()
            torch.save(net.state_dict(), path)
    print(f"best training loss {best:.4f}")


def load_model(path):
    model = IrisNet().load_state_dict(torch.load(path))
    model.eval()
    return model


if __name__ == "__main__":
    path = os.path.join(tempfile.mkdtemp(), "iris.pt")
    train(path)
    model = load_model(path)
    with torch.no_grad():
        acc = (model(X_te).argmax(1) == y_te).float().mean().item()
    print(f"test accuracy {acc:.3f}")
