import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_moons(n):
    t = np.linspace(0, np.pi, n // 2)
    upper = np.c_[np.cos(t), np.sin(t)]
    lower = np.c_[1 - np.cos(t), 0.5 - np.sin(t)]
    X = np.vstack([upper, lower]) + np.random.normal(0, 0.1, (n, 2))
    y = np.r_[np.zeros(n // 2), np.ones(n // 2)]
    return X.astype(np.float32), y.astype(np.int64)


class MoonNet(nn.Module):

    def __init__(self, hidden_size=16):
        super(MoonNet, self).__init__()
        self.hidden_size = hidden_size
        self.fc1 = nn.Linear(2, hidden_size)
        self.fc2 = nn.Linear(hidden_size, hidden_size)
        self.fc3 = nn.Linear(hidden_size, 2)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = self.dropout(x)
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return x

    def predict(self, x):
        self.eval()
        with torch.no_grad():
            scores = self(x)
        return scores.argmax(dim=1)


np.random.seed(0)
X, y = make_moons(300)
X = torch.from_numpy(X)
y = torch.from_numpy(y)

model = MoonNet()
print(model)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

losses = []
for epoch in range(200):
    model.train()
    y_pred = model(X)
    loss = criterion(y_pred, y)
    losses.append(loss.item())

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    if epoch % 50 == 0:
        print("epoch", epoch, "loss", losses[-1])

print("accuracy", (model.predict(X) == y).float().mean().item())
