"""Prices of houses from a table, read, cleaned and split by pandas."""

import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

NUMBERS = ["rooms", "area", "year"]


class Houses(Dataset):
    def __init__(self, table: pd.DataFrame, towns: list[str]):
        self.numbers = torch.tensor(table[NUMBERS].to_numpy(dtype="float32"))
        self.towns = torch.tensor(table["town"].map(towns.index).to_numpy())
        self.prices = torch.from_numpy(table["price"].to_numpy(dtype="float32"))

    def __len__(self):
        return len(self.prices)

    def __getitem__(self, index):
        return self.numbers[index], self.towns[index], self.prices[index]


class Prices(nn.Module):
    def __init__(self, towns: int, width: int = 24):
        super().__init__()
        self.town = nn.Embedding(towns, 6)
        self.net = nn.Sequential(
            nn.Linear(len(NUMBERS) + 6, width), nn.ReLU(), nn.Linear(width, 1)
        )

    def forward(self, numbers, town):
        return self.net(torch.cat([numbers, self.town(town)], dim=1)).squeeze(1)


table = pd.read_csv("houses.csv").dropna().drop_duplicates()
towns = sorted(table["town"].unique())
means = table[NUMBERS].agg(["mean", "std"])
table[NUMBERS] = (table[NUMBERS] - means.loc["mean"]) / means.loc["std"]
held = table.sample(frac=0.2, random_state=1)
train = DataLoader(Houses(table.drop(held.index), towns), 32, shuffle=True)
test = DataLoader(Houses(held, towns), 64)
model = Prices(len(towns))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
history = []
for epoch in range(25):
    model.train()
    for numbers, town, price in train:
        loss = nn.functional.l1_loss(model(numbers, town), price)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    errors = []
    with torch.no_grad():
        for numbers, town, price in test:
            errors.append((model(numbers, town) - price).abs())
    history.append({"epoch": epoch, "error": torch.cat(errors).mean().item()})
pd.DataFrame(history).to_csv("history.csv", index=False)
print(pd.read_csv("history.csv").tail(1))
