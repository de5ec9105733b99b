# %%
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

# %%
rng = np.random.default_rng(2024)
N = 1500
pickup = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 60 * 24 * 30, N), unit="min")
dist = rng.gamma(2.0, 2.0, N)
rush = np.isin(pickup.hour, [7, 8, 9, 16, 17, 18])
trips = pd.DataFrame({
    "pickup": pickup,
    "distance_km": dist,
    "passengers": rng.integers(1, 5, N),
    "hour": pickup.hour,
    "weekday": pickup.day_of_week,
    "minutes": 3 + 2.2 * dist + 6 * rush + rng.normal(0, 1.5, N),
}).sort_values("pickup").reset_index(drop=True)
trips.tail(3)

# %%
cut = pd.Timestamp("2024-03-24")
train_trips = trips[trips.pickup < cut].reset_index(drop=True)
test_trips = trips[trips.pickup >= cut].reset_index(drop=True)
num_mean = train_trips[["distance_km", "passengers"]].mean()
num_std = train_trips[["distance_km", "passengers"]].std()


# %%
class TripDataset(Dataset):
    def __init__(self, frame):
        self.frame = frame
        num = (frame[["distance_km", "passengers"]] - num_mean) / num_std
        self.num = torch.tensor(num.to_numpy(), dtype=torch.float32)
        self.hour = torch.tensor(frame["hour"].to_numpy(), dtype=torch.long)
        self.weekday = torch.tensor(frame["weekday"].to_numpy(), dtype=torch.long)
        self.target = torch.tensor(frame["minutes"].to_numpy(), dtype=torch.float32)

    def __len__(self):
        return len(self.frame)

    def __getitem__(self, i):
        return {
            "when": self.frame["pickup"].iloc[i],
            "num": self.num[i],
            "hour": self.hour[i],
            "weekday": self.weekday[i],
            "minutes": self.target[i],
        }


class TripNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hour_emb = nn.Embedding(24, 6)
        self.weekday_emb = nn.Embedding(7, 3)
        self.fc1 = nn.Linear(2 + 6 + 3, 64)
        self.fc2 = nn.Linear(64, 1)

    def forward(self, batch):
        x = torch.cat([batch["num"], self.hour_emb(batch["hour"]), self.weekday_emb(batch["weekday"])], dim=1)
        return self.fc2(F.relu(self.fc1(x))).squeeze(1)


# %%
torch.manual_seed(0)
train_dl = DataLoader(TripDataset(train_trips), batch_size=64, shuffle=True)
test_dl = DataLoader(TripDataset(test_trips), batch_size=128)

net = TripNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)

# %%
for epoch in range(5):
    net.train()
    for batch in train_dl:
        opt.zero_grad()
        loss = F.l1_loss(net(batch), batch["minutes"])
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 3))

# %%
net.eval()
rows = []
with torch.no_grad():
    for batch in test_dl:
        pred = net(batch)
        for when, p, y in zip(batch["when"], pred.tolist(), batch["minutes"].tolist()):
            rows.append((pd.Timestamp(when), p, y))
result = pd.DataFrame(rows, columns=["pickup", "pred", "true"])
result["abs_err"] = (result.pred - result.true).abs()
print(result.groupby(result.pickup.dt.date)["abs_err"].mean())
