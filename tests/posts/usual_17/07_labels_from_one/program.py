import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(3)
np.random.seed(3)

COVER_TYPES = {1: 'Spruce/Fir', 2: 'Lodgepole Pine', 3: 'Ponderosa Pine', 4: 'Cottonwood',
               5: 'Aspen', 6: 'Douglas-fir', 7: 'Krummholz'}


def read_covtype(n=1000):
    df = pd.DataFrame(np.random.randn(n, 10), columns=[f'f{i}' for i in range(10)])
    df['Cover_Type'] = np.random.choice(list(COVER_TYPES), n)
    for i in range(7):
        df.loc[df['Cover_Type'] == i + 1, f'f{i}'] += 2.0
    return df


df = read_covtype()
X = torch.tensor(df.drop('Cover_Type', axis=1).values, dtype=torch.float32)
y = torch.tensor(df['Cover_Type'].values, dtype=torch.long)
num_classes = df['Cover_Type'].nunique()

dataset = TensorDataset(X, y)
n_val = int(0.2 * len(dataset))
train_ds, val_ds = random_split(dataset, [len(dataset) - n_val, n_val])
train_dl = DataLoader(train_ds, batch_size=64, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=128)


class ForestNet(nn.Module):
    def __init__(self, n_features, n_classes):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_features, 64), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, n_classes))

    def forward(self, x):
        return self.net(x)


model = ForestNet(X.shape[1], num_classes)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for epoch in range(5):
    model.train()
    train_loss = 0.0
    for xb, yb in train_dl:
        logits = model(xb)
        loss = criterion(logits, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_loss += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in val_dl:
            correct += (model(xb).argmax(dim=1) == yb).sum().item()
    print(f'{epoch}: loss {train_loss / len(train_dl):.4f}  val acc {correct / n_val:.3f}')
