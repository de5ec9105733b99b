import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

rng = np.random.default_rng(30)
torch.manual_seed(30)

# machine states: 0 normal, 1 worn, 2 broken
sizes = {0: 1500, 1: 220, 2: 80}
rows = []
for state, n in sizes.items():
    rows.append(pd.DataFrame({
        "vibration": rng.normal(1.0 + 0.8 * state, 0.45, n),
        "temperature": rng.normal(60 + 8 * state, 5, n),
        "current": rng.normal(4 - 0.7 * state, 0.5, n),
        "rpm": rng.normal(1500, 60, n),
        "state": state,
    }))
log = pd.concat(rows).sample(frac=1, random_state=1).reset_index(drop=True)

features = ["vibration", "temperature", "current", "rpm"]
train_log, test_log = log.iloc[:1400], log.iloc[1400:]
mean, std = train_log[features].mean(), train_log[features].std()


def tensors(frame):
    x = torch.tensor(((frame[features] - mean) / std).to_numpy(), dtype=torch.float32)
    return x, torch.tensor(frame["state"].to_numpy())


x_train, y_train = tensors(train_log)
x_test, y_test = tensors(test_log)
train_set = TensorDataset(x_train, y_train)

counts = torch.bincount(y_train)
class_weights = 1.0 / counts.float()
print("class counts", counts.tolist())
sampler = WeightedRandomSampler(class_weights, num_samples=len(train_set), replacement=True)
loader = DataLoader(train_set, batch_size=50, sampler=sampler)

model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(6):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    model.eval()
    with torch.no_grad():
        pred = model(x_test).argmax(1)
    recall = [(pred[y_test == k] == k).float().mean().item() for k in range(3)]
    print(f"epoch {epoch + 1} loss {total / len(train_set):.4f} recall {[round(r, 2) for r in recall]}")
