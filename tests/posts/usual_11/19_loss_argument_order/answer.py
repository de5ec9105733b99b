# my first pytorch project: rock / paper / scissors from hand landmarks
import csv
import random

import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

random.seed(10)
torch.manual_seed(10)

gestures = ["rock", "paper", "scissors"]

# write the file with the landmarks (21 points, x and y)
base = {g: [random.random() for _ in range(42)] for g in gestures}
with open("landmarks.csv", "w", newline="") as f:
    w = csv.writer(f)
    w.writerow(["gesture"] + [f"p{i}" for i in range(42)])
    for _ in range(600):
        g = random.choice(gestures)
        w.writerow([g] + [round(v + random.gauss(0, 0.2), 4) for v in base[g]])


class HandDataset(Dataset):
    def __init__(self, file):
        self.x = []
        self.y = []
        with open(file) as f:
            for row in csv.DictReader(f):
                self.y.append(gestures.index(row["gesture"]))
                self.x.append([float(row[f"p{i}"]) for i in range(42)])

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return torch.tensor(self.x[index]), torch.tensor(self.y[index])


class HandModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(42, 64),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, 3),
        )

    def forward(self, x):
        return self.model(x)


dataset = HandDataset("landmarks.csv")
train_data, test_data = torch.utils.data.random_split(dataset, [480, 120])
train_dl = DataLoader(train_data, batch_size=20, shuffle=True)
test_dl = DataLoader(test_data, batch_size=20)

model = HandModel()
loss_function = nn.CrossEntropyLoss()
optim = torch.optim.Adam(model.parameters(), lr=0.001)


def calculate_loss(batch):
    landmarks, gesture = batch
    prediction = model(landmarks)
    return loss_function(prediction, gesture)


def fit(epochs):
    for epoch in range(epochs):
        model.train()
        sum_loss = 0
        for batch in train_dl:
            optim.zero_grad()
            loss = calculate_loss(batch)
            loss.backward()
            optim.step()
            sum_loss += loss.item()
        print("epoch", epoch + 1, "loss", sum_loss / len(train_dl))


def test():
    model.eval()
    right = 0
    with torch.no_grad():
        for landmarks, gesture in test_dl:
            right += (model(landmarks).argmax(1) == gesture).sum().item()
    print("accuracy", right / len(test_data))


fit(5)
test()
