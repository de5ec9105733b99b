import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

ACTIVITIES = {1: "walking", 2: "upstairs", 3: "downstairs", 4: "sitting", 5: "standing", 6: "laying"}
NUM_FEATURES = 20

rng = np.random.default_rng(1)
df = pd.DataFrame(rng.normal(size=(600, NUM_FEATURES)), columns=[f"f{i}" for i in range(NUM_FEATURES)])
df["activity"] = rng.integers(1, 7, size=600)

features = torch.tensor(df.drop(columns=["activity"]).values, dtype=torch.float32)
labels = torch.tensor(df["activity"].values - 1)

train_loader = DataLoader(TensorDataset(features[:500], labels[:500]), batch_size=50, shuffle=True)
test_loader = DataLoader(TensorDataset(features[500:], labels[500:]), batch_size=50)


class HARNet(nn.Module):
    def __init__(self, in_dim, n_classes):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, 64)
        self.fc2 = nn.Linear(64, n_classes)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))


model = HARNet(NUM_FEATURES, len(ACTIVITIES))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters())

for epoch in range(5):
    for xb, yb in train_loader:
        optimizer.zero_grad()
        out = model(xb)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", round(loss.item(), 4))

model.eval()
correct = 0
with torch.no_grad():
    for xb, yb in test_loader:
        correct += (model(xb).argmax(dim=1) == yb).sum().item()
print("test accuracy", correct / 100)
