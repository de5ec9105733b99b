import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def make_frame(rows=240, seed=7):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": rng.normal(40, 12, rows),
        "visits": rng.poisson(3, rows),
        "price": rng.gamma(2.0, 15.0, rows),
    })
    score = 0.05 * (frame["age"] - 40) + 0.4 * frame["visits"] - 0.03 * frame["price"]
    frame["bought"] = (score + rng.normal(0, 0.5, rows) > 0).astype(int)
    return frame


class PurchaseData(Dataset):
    columns = ["age", "visits", "price"]

    def __init__(self, frame):
        x = frame[self.columns].to_numpy(dtype=np.float32)
        self.x = torch.from_numpy((x - x.mean(0)) / x.std(0))
        self.y = torch.from_numpy(frame["bought"].to_numpy(dtype=np.int64, copy=True))

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


class PurchaseNet(nn.Module):
    def __init__(self, in_features, hidden=16):
        super().__init__()
        self.hidden = nn.Linear(in_features, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        x = torch.relu(self.hidden(x))
        return torch.sigmoid(self.out(x)).squeeze(1)


def main():
    torch.manual_seed(0)
    frame = make_frame()
    train = PurchaseData(frame.iloc[:200])
    loader = DataLoader(train, batch_size=20, shuffle=True)

    model = PurchaseNet(len(PurchaseData.columns))
    criterion = nn.BCELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    for epoch in range(5):
        total, correct = 0.0, 0
        for x, y in loader:
            prob = model(x)
            loss = criterion(prob, y.float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            correct += ((prob > 0.5).long() == y).sum().item()
        print(f"epoch {epoch} loss {total / len(train):.4f} acc {correct / len(train):.3f}")


if __name__ == "__main__":
    main()
