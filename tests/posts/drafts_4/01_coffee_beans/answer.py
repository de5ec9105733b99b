# %% [markdown]
# Homework 3 - grading roasted coffee beans from small photos

# %%
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(3)
np.random.seed(3)

# %%
# photos come as N x H x W x C, grades were written down by the roaster
n = 400
grades = np.random.randint(1, 5, size=n)
photos = np.random.rand(n, 48, 48, 3).astype(np.float32) * 0.3
for i, g in enumerate(grades):
    photos[i, :, :, 0] += 0.12 * g
    photos[i, :, :, 1] += 0.06 * g
print(photos.shape, np.bincount(grades))

# %%
X = torch.from_numpy(photos).permute(0, 3, 1, 2)
y = torch.from_numpy(grades - 1).long()

X_train, y_train = X[:320], y[:320]
X_test, y_test = X[320:], y[320:]

train_dl = DataLoader(TensorDataset(X_train, y_train), batch_size=32, shuffle=True)
test_dl = DataLoader(TensorDataset(X_test, y_test), batch_size=32)

# %%
class BeanNet(nn.Module):
    def __init__(self, n_grades=4):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(32 * 12 * 12, 64)
        self.fc2 = nn.Linear(64, n_grades)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)

net = BeanNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

# %%
for epoch in range(4):
    net.train()
    running = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        out = net(xb)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * xb.size(0)
    print(f"epoch {epoch}: loss {running / len(X_train):.3f}")

# %%
net.eval()
correct = 0
with torch.no_grad():
    for xb, yb in test_dl:
        pred = net(xb).argmax(dim=1)
        correct += (pred == yb).sum().item()
print("test accuracy:", correct / len(y_test))
