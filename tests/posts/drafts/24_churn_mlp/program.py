import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Dataset

SEED = 21
CATEGORIES = {"contract": ["month", "year", "two-year"], "payment": ["card", "invoice", "transfer"]}


def load_customers(n=1200):
    rng = np.random.default_rng(SEED)
    df = pd.DataFrame({
        "tenure": rng.integers(1, 72, n),
        "monthly": rng.uniform(15, 120, n),
        "tickets": rng.poisson(1.5, n),
        "contract": rng.choice(CATEGORIES["contract"], n),
        "payment": rng.choice(CATEGORIES["payment"], n),
    })
    score = -0.05 * df["tenure"] + 0.02 * df["monthly"] + 0.6 * df["tickets"] - 1.5 * (df["contract"] != "month")
    df["churn"] = (score + rng.normal(0, 0.5, n) > 0).astype(int)
    return df


class CustomerDataset(Dataset):
    def __init__(self, df):
        dummies = pd.get_dummies(df[["contract", "payment"]]).astype("float32")
        numeric = df[["tenure", "monthly", "tickets"]] / [72, 120, 5]
        self.x = torch.tensor(np.hstack([numeric.to_numpy(), dummies.to_numpy()]), dtype=torch.float32)
        self.y = torch.tensor(df["churn"].to_numpy(), dtype=torch.float32).unsqueeze(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class ChurnMLP(nn.Module):
    def __init__(self, n_inputs, sizes=(64, 32)):
        self.norm = nn.BatchNorm1d(n_inputs)
        self.hidden = []
        for size in sizes:
            self.hidden.append(nn.Linear(n_inputs, size))
            n_inputs = size
        self.out = nn.Linear(n_inputs, 1)

    def forward(self, x):
        x = self.norm(x)
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.out(x)


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += ((model(x) > 0).float() == y).sum().item()
    return correct / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(SEED)
    customers = load_customers()
    train_df, valid_df = train_test_split(customers, test_size=0.25, random_state=SEED, stratify=customers["churn"])
    train_set, valid_set = CustomerDataset(train_df), CustomerDataset(valid_df)
    train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
    valid_loader = DataLoader(valid_set, batch_size=100)

    model = ChurnMLP(n_inputs=train_set.x.shape[1])
    print("parameters:", sum(p.numel() for p in model.parameters()))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(12):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1}: loss {total / len(train_set):.4f}, valid acc {evaluate(model, valid_loader):.3f}")
