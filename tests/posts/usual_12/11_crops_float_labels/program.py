import pandas as pd
import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import Dataset, DataLoader

FEATURES = ["N", "P", "K", "temperature", "humidity", "ph", "rainfall"]


def write_csv(path):
    rng = np.random.default_rng(11)
    frames = []
    for code, crop in enumerate(["rice", "maize", "lentil", "cotton", "coffee"]):
        centre = rng.uniform([20, 20, 15, 18, 30, 5.5, 50], [110, 70, 60, 30, 90, 7.5, 240])
        block = pd.DataFrame(rng.normal(centre, centre * 0.12, (110, 7)), columns=FEATURES)
        block["label"] = code
        frames.append(block)
    df = pd.concat(frames).sample(frac=1.0, random_state=11)
    df.round(3).to_csv(path, index=False)


class CropDataset(Dataset):
    def __init__(self, array):
        array = torch.from_numpy(array).float()
        self.x = array[:, :-1]
        self.y = array[:, -1]

    def __len__(self):
        return self.x.shape[0]

    def __getitem__(self, index):
        return self.x[index], self.y[index]


class CropClassifier(nn.Module):
    def __init__(self, n_features, n_classes):
        super().__init__()
        self.fc1 = nn.Linear(n_features, 64)
        self.bn1 = nn.BatchNorm1d(64)
        self.fc2 = nn.Linear(64, 32)
        self.drop = nn.Dropout(0.2)
        self.fc3 = nn.Linear(32, n_classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.fc1(x)))
        x = self.drop(torch.relu(self.fc2(x)))
        return self.fc3(x)


def fit(model, loader, epochs, lr):
    opt = optim.Adam(model.parameters(), lr=lr)
    lossfn = nn.CrossEntropyLoss()
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            opt.zero_grad()
            loss = lossfn(model(x), y)
            loss.backward()
            opt.step()
            total += loss.item() * len(x)
        history.append(total / len(loader.dataset))
    return history


def score(model, loader):
    model.eval()
    n = 0
    with torch.no_grad():
        for x, y in loader:
            n += (model(x).argmax(dim=1) == y).sum().item()
    return n / len(loader.dataset)


torch.manual_seed(11)
write_csv("crops.csv")
data = pd.read_csv("crops.csv")
n_classes = data["label"].nunique()
values = data[FEATURES + ["label"]].values
train, test = values[:440], values[440:]
m, s = train[:, :-1].mean(axis=0), train[:, :-1].std(axis=0)
for part in (train, test):
    part[:, :-1] = (part[:, :-1] - m) / s

train_loader = DataLoader(CropDataset(train), batch_size=40, shuffle=True)
test_loader = DataLoader(CropDataset(test), batch_size=40)
model = CropClassifier(len(FEATURES), n_classes)
print(fit(model, train_loader, epochs=5, lr=3e-3))
print("test accuracy:", score(model, test_loader))
