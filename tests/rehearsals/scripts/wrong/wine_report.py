# %% imports
import csv
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

# %% data: three cultivars, 13 measurements
rng = np.random.default_rng(3)
centers = rng.normal(size=(3, 13)) * 1.2
labels = rng.integers(0, 3, size=478)
feats = centers[labels] + rng.normal(size=(478, 13))
X = torch.tensor(feats, dtype=torch.float32)
y = torch.tensor(labels)
n_train = 378
X = (X - X[:n_train].mean(0)) / X[:n_train].std(0)

train_dl = DataLoader(TensorDataset(X[:n_train], y[:n_train]), batch_size=32, shuffle=True)
test_dl = DataLoader(TensorDataset(X[n_train:], y[n_train:]), batch_size=32)

# %% model
torch.manual_seed(0)


class WineNet(nn.Module):
    def __init__(self, p=0.2):
        super().__init__()
        self.fc1 = nn.Linear(13, 32)
        self.drop = nn.Dropout(p)
        self.fc2 = nn.Linear(32, 3)

    def forward(self, x):
        return self.fc2(self.drop(F.relu(self.fc1(x))))


net = WineNet()
opt = torch.optim.RMSprop(net.parameters(), lr=2e-3)

# %% train
for epoch in range(6):
    net.train()
    losses = []
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = F.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print('epoch', epoch, 'loss', np.mean(losses))

# %% predictions of the test set
net.eval()
all_logits, all_targets = [], []
with torch.no_grad():
    for xb, yb in test_dl:
        all_logits.append(net(xb))
        all_targets.append(yb)

logits = torch.stack(all_logits).reshape(-1, 3)
targets = torch.cat(all_targets)
preds = logits.argmax(1)

# %% report
cm = np.zeros((3, 3), dtype=int)
for t, p in zip(targets.tolist(), preds.tolist()):
    cm[t, p] += 1
print(cm)

for c in range(3):
    tp = cm[c, c]
    precision = tp / max(cm[:, c].sum(), 1)
    recall = tp / max(cm[c].sum(), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-12)
    print(f'class {c}: precision {precision:.3f} recall {recall:.3f} f1 {f1:.3f}')

with open('predictions.csv', 'w', newline='') as f:
    writer = csv.writer(f)
    writer.writerow(['index', 'target', 'prediction', 'confidence'])
    conf = logits.softmax(1).max(1).values
    for i in range(len(preds)):
        writer.writerow([i, int(targets[i]), int(preds[i]), round(float(conf[i]), 4)])
