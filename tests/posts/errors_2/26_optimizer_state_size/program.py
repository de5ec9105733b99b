import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_iris

torch.manual_seed(0)
X, y = load_iris(return_X_y=True)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
y = torch.tensor(y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


def train(model, optimizer, epochs):
    for _ in range(epochs):
        for idx in torch.randperm(len(X)).split(30):
            optimizer.zero_grad()
            F.cross_entropy(model(X[idx]), y[idx]).backward()
            optimizer.step()
    with torch.no_grad():
        return (model(X).argmax(1) == y).float().mean().item()


model = Net()
for p in model.backbone.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-2)
print("stage 1:", train(model, optimizer, 5))
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "stage1.pt")

checkpoint = torch.load("stage1.pt")
model = Net()
model.load_state_dict(checkpoint["model"])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
optimizer.load_state_dict(checkpoint["optimizer"])
print("stage 2:", train(model, optimizer, 5))
