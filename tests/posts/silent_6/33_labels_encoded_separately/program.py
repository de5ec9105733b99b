import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SPECIES = ["alder", "beech", "cedar", "elm", "fir"]
FEATURES = ["height", "leaf_len", "leaf_width", "bark"]


def survey(n, species, seed):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(100).normal(0, 2.0, (len(SPECIES), len(FEATURES)))
    names = rng.choice(species, n)
    index = [SPECIES.index(s) for s in names]
    table = pd.DataFrame(centres[index] + rng.normal(0, 0.7, (n, len(FEATURES))), columns=FEATURES)
    table["species"] = names
    return table


def encode(table):
    codes = table["species"].astype("category").cat.codes
    x = torch.tensor(table[FEATURES].to_numpy(), dtype=torch.float32)
    y = torch.tensor(codes.to_numpy(dtype=np.int64))
    return x, y


class TreeNet(nn.Module):
    def __init__(self, n_features, n_classes):
        super().__init__()
        self.norm = nn.BatchNorm1d(n_features)
        self.fc1 = nn.Linear(n_features, 32)
        self.fc2 = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(self.norm(x))))


def fit(model, x, y, epochs=12):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(yb)
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1} loss {total / len(y):.4f}")


def predict(model, x):
    model.eval()
    with torch.no_grad():
        return model(x).argmax(1)


torch.manual_seed(0)
train = survey(1000, SPECIES, seed=1)
field = survey(300, ["alder", "cedar", "elm", "fir"], seed=2)

x, y = encode(train)
x_field, y_field = encode(field)
model = TreeNet(len(FEATURES), int(y.max()) + 1)
fit(model, x[:800], y[:800])

print(f"validation accuracy {(predict(model, x[800:]) == y[800:]).float().mean().item():.3f}")
pred = predict(model, x_field)
field["right"] = (pred == y_field).numpy()
print(f"field accuracy      {field['right'].mean():.3f}")
print(field.groupby("species")["right"].mean().round(2).to_dict())
