import argparse
import csv
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


def write_csv(path, rows=120):
    rng = np.random.default_rng(8)
    with open(path, "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["price", "service", "noise", "distance", "stars"])
        for price, service, noise, distance in rng.random((rows, 4)):
            score = 1 + 4 * np.clip(0.6 * service + 0.4 * (1 - noise), 0, 1)
            writer.writerow([price, service, noise, distance, int(round(score + rng.normal(0, 1))) ])


class Ratings(Dataset):
    def __init__(self, path):
        with open(path, newline="") as f:
            table = list(csv.reader(f))[1:]
        values = np.array(table, dtype=np.float32)
        self.features = values[:, :4]
        self.stars = values[:, 4].clip(1, 5).astype(np.int64)

    def __len__(self):
        return len(self.stars)

    def __getitem__(self, index):
        return torch.from_numpy(self.features[index]), self.stars[index]


class RatingNet(nn.Module):
    def __init__(self, in_features, num_classes):
        super().__init__()
        self.fc1 = nn.Linear(in_features, 32)
        self.fc2 = nn.Linear(32, num_classes)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        return self.fc2(self.dropout(torch.relu(self.fc1(x))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=24)
    args = parser.parse_args()
    torch.manual_seed(0)
    path = os.path.join(tempfile.mkdtemp(), "ratings.csv")
    write_csv(path)
    loader = DataLoader(Ratings(path), batch_size=args.batch_size, shuffle=False)
    model = RatingNet(4, num_classes=5)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(args.epochs):
        model.train()
        for features, stars in loader:
            optimizer.zero_grad()
            output = model(features)
            loss = criterion(output, stars)
            loss.backward()
            optimizer.step()
        print(f"Epoch [{epoch + 1}/{args.epochs}] loss: {loss.item():.4f}")


if __name__ == "__main__":
    main()
