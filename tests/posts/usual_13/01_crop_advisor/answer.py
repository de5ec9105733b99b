# Crop recommendation - my first PyTorch project
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
rng = np.random.RandomState(1)

# ---- data (same columns as in the Kaggle csv) ----
crops = ['rice', 'maize', 'lentil', 'cotton', 'coffee', 'mango']
n = 900
crop_id = rng.randint(0, len(crops), n)
df = pd.DataFrame({
    'N': rng.normal(60, 15, n) + 6 * crop_id,
    'P': rng.normal(50, 12, n) - 4 * crop_id,
    'K': rng.normal(45, 10, n) + 3 * (crop_id % 3),
    'temperature': rng.normal(25, 3, n) + crop_id,
    'humidity': rng.normal(70, 8, n) - 5 * (crop_id % 2),
    'ph': rng.normal(6.5, 0.5, n),
    'rainfall': rng.normal(110, 25, n) + 12 * crop_id,
    'label': [crops[i] for i in crop_id],
})
df.to_csv('crop.csv', index=False)

data = pd.read_csv('crop.csv')
names = sorted(data['label'].unique())
y = data['label'].map({c: i for i, c in enumerate(names)}).values
X = data.drop(columns='label').values.astype('float32')

perm = rng.permutation(len(X))
tr, te = perm[:720], perm[720:]
mu, sd = X[tr].mean(0), X[tr].std(0)
X = (X - mu) / sd

X_train = torch.tensor(X[tr])
y_train = torch.tensor(y[tr], dtype=torch.long)
X_test = torch.tensor(X[te])
y_test = torch.tensor(y[te], dtype=torch.long)


class CropNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(7, 64)
        self.l2 = nn.Linear(64, 32)
        self.l3 = nn.Linear(32, len(names))
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = self.drop(F.relu(self.l1(x)))
        x = F.relu(self.l2(x))
        return self.l3(x)


model = CropNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

batch_size = 48
for epoch in range(15):
    model.train()
    order = torch.randperm(len(X_train))
    total = 0
    for start in range(0, len(X_train), batch_size):
        idx = order[start:start + batch_size]
        xb, yb = X_train[idx], y_train[idx]
        optimizer.zero_grad()
        out = model(xb)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        print('epoch', epoch + 1, 'loss', total / len(X_train))

model.eval()
with torch.no_grad():
    pred = model(X_test).argmax(dim=1)
print('test accuracy:', (pred == y_test).float().mean().item())
