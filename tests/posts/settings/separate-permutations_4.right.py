# line 25: features and target of the table are each drawn by DataFrame.sample(frac=1), in different orders
import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(40)
houses = pd.DataFrame(
    {
        "area": rng.uniform(30, 200, 500),
        "rooms": rng.integers(1, 7, 500),
        "age": rng.uniform(0, 90, 500),
    }
)
houses["rent"] = 7 * houses["area"] + 60 * houses["rooms"] - 2 * houses["age"] + rng.normal(0, 20, 500)


def standardized(frame):
    return (frame - frame.mean()) / frame.std()


class RentData(torch.utils.data.Dataset):
    def __init__(self, frame, seed=40):
        frame = standardized(frame)
        frame = frame.sample(frac=1.0, random_state=seed)
        features, target = frame.drop(columns="rent"), frame["rent"]
        self.x = torch.tensor(features.to_numpy(), dtype=torch.float32)
        self.y = torch.tensor(target.to_numpy(), dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


torch.manual_seed(40)
data = RentData(houses)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    total = 0.0
    for x, y in torch.utils.data.DataLoader(data, batch_size=50, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
        total += loss.item() * len(y)
    print(f"epoch {epoch}: mse {total / len(data):.3f}")
