# line 51: np.max of the collected scores instead of np.argmax is compared with the true species
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(5)
torch.manual_seed(5)

SPECIES = ["oak", "beech", "pine"]


def leaves(n):
    kind = np.random.randint(0, 3, n)
    length = 5 + 2 * kind + np.random.randn(n)
    width = 4 - kind + 0.6 * np.random.randn(n)
    frame = pd.DataFrame({"length": length, "width": width, "ratio": length / (width.clip(0.5))})
    return frame, kind


def to_dataset(frame, kind, mean, std):
    x = ((frame - mean) / std).to_numpy(dtype=np.float32)
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(kind))


frame, kind = leaves(400)
mean, std = frame.mean(), frame.std()
train_loader = DataLoader(to_dataset(frame, kind, mean, std), batch_size=32, shuffle=True)
test_loader = DataLoader(to_dataset(*leaves(150), mean, std), batch_size=50)

net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, len(SPECIES)))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

for epoch in range(8):
    net.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()

net.eval()
all_scores, all_truth = [], []
with torch.no_grad():
    for x, y in test_loader:
        all_scores.append(net(x).numpy())
        all_truth.append(y.numpy())
scores, truth = np.concatenate(all_scores), np.concatenate(all_truth)

decided = np.argmax(scores, axis=1)
print("accuracy: %.3f" % np.mean(decided == truth))
for number, name in enumerate(SPECIES):
    rows = truth == number
    print("%-6s n=%3d right=%.3f" % (name, rows.sum(), np.mean(decided[rows] == number)))
