# Titanic - first try with PyTorch
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(42)
np.random.seed(42)

# %% make the csv (same columns as on Kaggle, without the names)
n = 600
sex = np.random.choice(['male', 'female'], n, p=[0.65, 0.35])
pclass = np.random.choice([1, 2, 3], n, p=[0.25, 0.2, 0.55])
age = np.where(np.random.rand(n) < 0.2, np.nan, np.random.normal(30, 13, n).clip(1, 80))
fare = np.random.gamma(2.0, 60 / pclass)
p = 1 / (1 + np.exp(-(1.8 * (sex == 'female') - 0.9 * (pclass - 2) - 0.6)))
pd.DataFrame({
    'Survived': (np.random.rand(n) < p).astype(int),
    'Pclass': pclass, 'Sex': sex, 'Age': age, 'Fare': fare,
    'SibSp': np.random.poisson(0.5, n), 'Embarked': np.random.choice(['S', 'C', 'Q'], n),
}).to_csv('train.csv', index=False)

# %% load and clean
df = pd.read_csv('train.csv')
df['Age'] = df['Age'].fillna(df['Age'].median())
y = df.pop('Survived')

num_cols = ['Age', 'Fare', 'SibSp']
cut = int(0.8 * len(df))
mean, std = df[num_cols][:cut].mean(), df[num_cols][:cut].std()
df[num_cols] = (df[num_cols] - mean) / std
df = pd.get_dummies(df, columns=['Pclass', 'Sex', 'Embarked'])
print(df.shape)


# %% helper
def to_loader(frame, target, shuffle):
    features = torch.tensor(frame.values, dtype=torch.float32)
    labels = torch.tensor(target.values, dtype=torch.float32).unsqueeze(1)
    return DataLoader(TensorDataset(features, labels), batch_size=32, shuffle=shuffle)


train_dl = to_loader(df[:cut], y[:cut], True)
valid_dl = to_loader(df[cut:], y[cut:], False)


# %% model
class TitanicNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.l1 = nn.Linear(n_in, 32)
        self.l2 = nn.Linear(32, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        x = F.relu(self.l1(x))
        x = F.relu(self.l2(x))
        return self.out(x)


model = TitanicNet(df.shape[1])
opt = torch.optim.Adam(model.parameters(), lr=0.005)
bce = nn.BCEWithLogitsLoss()

# %% train
for epoch in range(10):
    model.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = bce(model(xb), yb)
        loss.backward()
        opt.step()
    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in valid_dl:
            hits += ((model(xb) > 0).float() == yb).sum().item()
    print(epoch, 'valid acc', hits / len(valid_dl.dataset))
