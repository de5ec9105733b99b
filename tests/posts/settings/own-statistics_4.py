# line 36: the median and the interquartile range for the test months are those of the test months themselves
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(2)
n = 480
sales = pd.DataFrame(
    {
        "month": np.repeat(np.arange(12), n // 12),
        "price": rng.gamma(3.0, 2.0, n) + 0.2 * np.repeat(np.arange(12), n // 12),
        "visits": rng.poisson(40, n) + 2.0 * np.repeat(np.arange(12), n // 12),
        "rain": rng.exponential(1.0, n),
    }
)
sales["sold"] = 0.1 * sales.visits - 0.4 * sales.price + np.sqrt(sales.rain) + 0.2 * rng.normal(size=n)
COLUMNS = ["price", "visits", "rain"]


def robust(frame):
    spread = frame.quantile(0.75) - frame.quantile(0.25)
    return frame.median(), spread


def as_dataset(frame, centre, spread):
    x = (frame[COLUMNS] - centre) / spread
    return TensorDataset(
        torch.tensor(x.values, dtype=torch.float32), torch.tensor(frame.sold.values, dtype=torch.float32)
    )


early, late = sales[sales.month < 9], sales[sales.month >= 9]
train_data = as_dataset(early, *robust(early[COLUMNS]))
test_data = as_dataset(late, *robust(late[COLUMNS]))

torch.manual_seed(2)
model = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(15):
    model.train()
    for x, sold in DataLoader(train_data, batch_size=24, shuffle=True):
        optimizer.zero_grad()
        nn.functional.huber_loss(model(x).squeeze(1), sold).backward()
        optimizer.step()

model.eval()
absolute = 0.0
with torch.no_grad():
    for x, sold in DataLoader(test_data, batch_size=60):
        absolute += (model(x).squeeze(1) - sold).abs().sum().item()
print("mean absolute error", absolute / len(test_data))
