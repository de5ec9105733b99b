import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import r2_score
from torch.utils.data import Dataset, DataLoader

np.random.seed(0)
torch.manual_seed(0)


class DemandDataset(Dataset):
    def __init__(self, frame, cat_cols, num_cols, target):
        self.cats = torch.tensor(frame[cat_cols].values, dtype=torch.long)
        self.nums = torch.tensor(frame[num_cols].values, dtype=torch.float32)
        self.target = torch.tensor(frame[target].values, dtype=torch.float32)

    def __len__(self):
        return len(self.target)

    def __getitem__(self, i):
        return self.cats[i], self.nums[i], self.target[i]


class DemandModel(nn.Module):
    def __init__(self, cardinalities, n_num, hidden=64):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(c, min(16, (c + 1) // 2)) for c in cardinalities])
        emb_dim = sum(e.embedding_dim for e in self.embs)
        self.mlp = nn.Sequential(
            nn.Linear(emb_dim + n_num, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 1))

    def forward(self, cats, nums):
        e = [emb(cats[:, i]) for i, emb in enumerate(self.embs)]
        return self.mlp(torch.cat(e + [nums], dim=1))


def make_frame(n=1500):
    df = pd.DataFrame({
        'store': np.random.randint(0, 20, n),
        'weekday': np.random.randint(0, 7, n),
        'price': np.random.normal(0, 1, n),
        'promo': np.random.randint(0, 2, n),
    })
    store_effect = np.random.normal(0, 1, 20)
    df['units'] = (store_effect[df['store']] + 0.5 * (df['weekday'] > 4) - 0.8 * df['price']
                   + 0.7 * df['promo'] + 0.2 * np.random.randn(n))
    df['units'] = (df['units'] - df['units'].mean()) / df['units'].std()
    return df


def fit(model, train_dl, val_dl, epochs=8, lr=3e-3):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    loss_fn = nn.MSELoss()
    for epoch in range(epochs):
        model.train()
        losses = []
        for cats, nums, y in train_dl:
            pred = model(cats, nums)
            loss = loss_fn(pred.squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        model.eval()
        preds, ys = [], []
        with torch.no_grad():
            for cats, nums, y in val_dl:
                preds.extend(model(cats, nums).flatten().tolist())
                ys.extend(y.tolist())
        print(f'epoch {epoch} train {np.mean(losses):.4f} val r2 {r2_score(ys, preds):.3f}')


df = make_frame()
cat_cols, num_cols = ['store', 'weekday'], ['price', 'promo']
train_dl = DataLoader(DemandDataset(df[:1200], cat_cols, num_cols, 'units'), batch_size=50, shuffle=True)
val_dl = DataLoader(DemandDataset(df[1200:], cat_cols, num_cols, 'units'), batch_size=50)
model = DemandModel([20, 7], len(num_cols))
fit(model, train_dl, val_dl)
