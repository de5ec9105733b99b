import io

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader, random_split

torch.manual_seed(1)

# in the real project this is a csv file on disk: 60 flux values, then the class (0, 1, 2)
gen = np.random.RandomState(3)
rows = np.hstack([gen.randn(400, 60), gen.randint(0, 3, size=(400, 1))])
buf = io.StringIO()
np.savetxt(buf, rows, delimiter=",", fmt="%.5f")
buf.seek(0)

table = np.loadtxt(buf, delimiter=",", dtype=np.float32)
flux = torch.from_numpy(table[:, :-1]).unsqueeze(1)
kind = torch.from_numpy(table[:, -1])
print(flux.shape, kind.shape, kind.unique())

data = TensorDataset(flux, kind)
train_set, val_set = random_split(data, [320, 80])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=80)


class LightCurveNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 5, padding=2)
        self.conv2 = nn.Conv1d(16, 32, 5, padding=2)
        self.pool = nn.MaxPool1d(2)
        self.fc1 = nn.Linear(32 * 15, 64)
        self.fc2 = nn.Linear(64, n_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.flatten(1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


net = LightCurveNet()
criterion = nn.CrossEntropyLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

for epoch in range(3):
    net.train()
    for xb, yb in train_loader:
        opt.zero_grad()
        out = net(xb)
        loss = criterion(out, yb)
        loss.backward()
        opt.step()

    net.eval()
    with torch.no_grad():
        for xb, yb in val_loader:
            acc = (net(xb).argmax(dim=1) == yb).float().mean()
    print(f"epoch {epoch}  train loss {loss.item():.3f}  val acc {acc.item():.3f}")
