import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

SEED = 7
np.random.seed(SEED)
torch.manual_seed(SEED)


def make_frame(n=500):
    df = pd.DataFrame({
        'age': np.random.randint(18, 70, n),
        'income': np.random.lognormal(10, 0.5, n),
        'tenure': np.random.randint(0, 120, n),
        'n_products': np.random.randint(1, 5, n),
        'country': np.random.choice(['DE', 'FR', 'ES'], n),
    })
    score = 0.03 * df['age'] - 0.02 * df['tenure'] + (df['country'] == 'DE') * 1.0
    df['churn'] = (score + np.random.randn(n) * 0.5 > score.mean()).astype(int)
    return df


def preprocess(df):
    y = df['churn'].values
    df = pd.get_dummies(df.drop(columns=['churn']), columns=['country'])
    num_cols = ['age', 'income', 'tenure', 'n_products']
    df[num_cols] = (df[num_cols] - df[num_cols].mean()) / df[num_cols].std()
    return df.values.astype(float), y


class ChurnData(Dataset):
    def __init__(self, X, y):
        self.X = X
        self.y = y

    def __len__(self):
        return self.X.shape[0]

    def __getitem__(self, i):
        features = torch.from_numpy(self.X[i]).float()
        label = torch.tensor(self.y[i])
        return features, label


class MLP(nn.Module):
    def __init__(self, in_dim):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, 32)
        self.bn1 = nn.BatchNorm1d(32)
        self.fc2 = nn.Linear(32, 16)
        self.out = nn.Linear(16, 2)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = self.drop(torch.relu(self.bn1(self.fc1(x))))
        x = torch.relu(self.fc2(x))
        return self.out(x)


X, y = preprocess(make_frame())
split = int(0.8 * len(X))
train_loader = DataLoader(ChurnData(X[:split], y[:split]), batch_size=50, shuffle=True)
valid_loader = DataLoader(ChurnData(X[split:], y[split:]), batch_size=50)

model = MLP(X.shape[1])
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(5):
    model.train()
    for xb, yb in train_loader:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()

    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in valid_loader:
            hits += (model(xb).argmax(1) == yb).sum().item()
    print(epoch, loss.item(), hits / (len(X) - split))
