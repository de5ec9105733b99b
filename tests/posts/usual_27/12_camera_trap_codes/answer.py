import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import LabelEncoder, StandardScaler
from torch.utils.data import DataLoader, TensorDataset

PROFILE = {
    "badger": (0.7, 0.3, 22, 11),
    "boar": (1.3, 0.8, 20, 75),
    "deer": (1.7, 1.1, 6, 60),
    "fox": (0.9, 0.4, 1, 7),
    "hare": (0.5, 0.3, 4, 4),
}
COLUMNS = ["length", "height", "hour", "weight"]


def observations(site, species, n, seed):
    rng = np.random.default_rng(seed)
    names = rng.choice(species, size=n)
    base = np.array([PROFILE[s] for s in names], dtype=float)
    values = base * rng.normal(1.0, 0.12, size=base.shape)
    frame = pd.DataFrame(values, columns=COLUMNS)
    frame["species"] = names
    frame["site"] = site
    frame["day"] = rng.integers(0, 30, size=n)
    return frame


def to_loader(features, codes, batch_size=32, shuffle=False):
    dataset = TensorDataset(
        torch.tensor(features, dtype=torch.float32), torch.tensor(codes, dtype=torch.long)
    )
    return DataLoader(dataset, batch_size=batch_size, shuffle=shuffle)


class AnimalNet(nn.Module):
    def __init__(self, n_features, n_species):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, 32),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.Linear(32, 32),
            nn.ReLU(),
            nn.Linear(32, n_species),
        )

    def forward(self, x):
        return self.layers(x)


def predict(model, loader):
    model.eval()
    guesses, truth = [], []
    with torch.no_grad():
        for x, y in loader:
            guesses.append(model(x).argmax(dim=1))
            truth.append(y)
    return torch.cat(guesses).numpy(), torch.cat(truth).numpy()


torch.manual_seed(0)
home = observations("north", list(PROFILE), 800, seed=1)
other = observations("south", ["boar", "deer", "fox", "hare"], 250, seed=2)
train_df, valid_df = home[home.day < 24], home[home.day >= 24]

encoder = LabelEncoder()
scaler = StandardScaler()
x_train = scaler.fit_transform(train_df[COLUMNS])
y_train = encoder.fit_transform(train_df["species"])
x_valid = scaler.transform(valid_df[COLUMNS])
y_valid = encoder.transform(valid_df["species"])

model = AnimalNet(len(COLUMNS), len(encoder.classes_))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
train_loader = to_loader(x_train, y_train, shuffle=True)
valid_loader = to_loader(x_valid, y_valid)

for epoch in range(8):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
guesses, truth = predict(model, valid_loader)
print(f"north, held-out days: {accuracy_score(truth, guesses):.3f}")

x_south = scaler.transform(other[COLUMNS])
y_south = encoder.transform(other["species"])
guesses, truth = predict(model, to_loader(x_south, y_south))
print(f"south: {accuracy_score(truth, guesses):.3f}")
