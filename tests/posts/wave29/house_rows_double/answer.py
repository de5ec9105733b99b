import os
import tempfile

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


def make_csv(path, n=600):
    rng = np.random.RandomState(42)
    df = pd.DataFrame({
        'area': rng.uniform(40, 220, n),
        'rooms': rng.randint(1, 8, n),
        'age': rng.uniform(0, 90, n),
        'distance': rng.exponential(6.0, n),
    })
    df['price'] = (2.1 * df['area'] + 11 * df['rooms'] - 0.6 * df['age']
                   - 3 * df['distance'] + rng.normal(0, 8, n)) / 100
    df.to_csv(path, index=False)


class HouseDataset(Dataset):
    def __init__(self, path):
        df = pd.read_csv(path)
        features = df.drop(columns='price')
        self.features = ((features - features.mean()) / features.std()).values
        self.price = df[['price']].values

    def __len__(self):
        return len(self.price)

    def __getitem__(self, index):
        x = torch.from_numpy(self.features[index])
        y = torch.from_numpy(self.price[index])
        return x.float(), y.float()


class PriceNet(nn.Module):
    def __init__(self, n_features):
        super(PriceNet, self).__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, 32),
            nn.ReLU(),
            nn.Linear(32, 16),
            nn.ReLU(),
            nn.Linear(16, 1),
        )

    def forward(self, x):
        return self.layers(x)


tmp = tempfile.mkdtemp()
csv_path = os.path.join(tmp, 'houses.csv')
make_csv(csv_path)

torch.manual_seed(0)
dataset = HouseDataset(csv_path)
train_set, valid_set = torch.utils.data.random_split(dataset, [500, 100])
train_dl = DataLoader(train_set, batch_size=25, shuffle=True)
valid_dl = DataLoader(valid_set, batch_size=100)

model = PriceNet(n_features=4)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(8):
    model.train()
    for x, y in train_dl:
        pred = model(x)
        loss = loss_fn(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        x, y = next(iter(valid_dl))
        rmse = loss_fn(model(x), y).sqrt().item()
    print('epoch', epoch, 'train loss %.4f' % loss.item(), 'valid rmse %.4f' % rmse)
