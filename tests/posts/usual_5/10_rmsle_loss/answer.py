# Store sales: the competition is scored with RMSLE, so train on it directly
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

SEED = 2023
np.random.seed(SEED)
torch.manual_seed(SEED)


def build_frame(n=1500):
    df = pd.DataFrame()
    df["store"] = np.random.randint(0, 10, n)
    df["weekday"] = np.random.randint(0, 7, n)
    df["onpromotion"] = np.random.binomial(1, 0.3, n)
    df["oil"] = np.random.normal(60, 10, n)
    base = np.exp(3 + 0.1 * df["store"] + 0.4 * df["onpromotion"] + 0.05 * df["weekday"])
    df["sales"] = np.random.poisson(base).astype(float)
    return df


class SalesDataset(Dataset):
    def __init__(self, df, oil_mean, oil_std):
        self.cat = torch.as_tensor(df[["store", "weekday"]].to_numpy(), dtype=torch.int64)
        cont = df[["onpromotion", "oil"]].copy()
        cont["oil"] = (cont["oil"] - oil_mean) / oil_std
        self.cont = torch.as_tensor(cont.to_numpy(), dtype=torch.float32)
        self.y = torch.tensor(df["sales"].to_numpy(), dtype=torch.float32)

    def __len__(self):
        return self.y.shape[0]

    def __getitem__(self, idx):
        return self.cat[idx], self.cont[idx], self.y[idx]


class SalesModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.store = nn.Embedding(10, 5)
        self.weekday = nn.Embedding(7, 4)
        self.l1 = nn.Linear(5 + 4 + 2, 64)
        self.l2 = nn.Linear(64, 64)
        self.l3 = nn.Linear(64, 1)

    def forward(self, cat, cont):
        x = torch.cat([self.store(cat[:, 0]), self.weekday(cat[:, 1]), cont], dim=1)
        x = F.relu(self.l1(x))
        x = F.relu(self.l2(x))
        return F.softplus(self.l3(x)).squeeze(1)


class RMSLELoss(nn.Module):
    def __init__(self, eps=1e-8):
        super().__init__()
        self.eps = eps

    def forward(self, pred, actual):
        diff = torch.log1p(pred) - torch.log1p(actual)
        return torch.sqrt(torch.mean(diff ** 2) + self.eps)


df = build_frame()
valid = df.sample(frac=0.2, random_state=SEED)
train = df.drop(valid.index)
stats = train["oil"].mean(), train["oil"].std()

train_dl = DataLoader(SalesDataset(train, *stats), batch_size=128, shuffle=True)
valid_dl = DataLoader(SalesDataset(valid, *stats), batch_size=512)

model = SalesModel()
criterion = RMSLELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)


def validate():
    model.eval()
    preds, ys = [], []
    with torch.no_grad():
        for cat, cont, y in valid_dl:
            preds.append(model(cat, cont))
            ys.append(y)
    return criterion(torch.cat(preds), torch.cat(ys)).item()


print("before training:", round(validate(), 4))
for epoch in range(6):
    model.train()
    for cat, cont, y in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(cat, cont), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: valid RMSLE {validate():.4f}")
