import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset, DataLoader

rng = np.random.default_rng(9)
patients = pd.DataFrame({
    "age": rng.integers(20, 90, 120),
    "bmi": rng.normal(27, 4, 120).round(1),
    "glucose": rng.normal(105, 25, 120).round(0),
    "split": rng.choice(["train", "test"], 120, p=[0.8, 0.2]),
})


class DiabetesRisk(Dataset):
    def __init__(self, frame, split):
        if split not in ("train", "test"):
            raise ValueError(split)
        part = frame[frame["split"] == split]
        self.x = torch.tensor(part[["age", "bmi", "glucose"]].to_numpy(), dtype=torch.float32)
        self.x = (self.x - self.x.mean(0)) / self.x.std(0)
        risky = part["glucose"] > 125 or part["bmi"] > 32
        self.y = torch.tensor(risky.to_numpy(), dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.02)
bce = torch.nn.BCEWithLogitsLoss()
for epoch in range(10):
    for x, y in DataLoader(DiabetesRisk(patients, "train"), batch_size=32, shuffle=True):
        loss = bce(net(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", loss.item())
