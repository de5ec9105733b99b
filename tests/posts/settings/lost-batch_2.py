# line 26: torch.squeeze without a dim drops the batch of a single house in the prediction as well as the last dim
import numpy as np
import pandas as pd
import torch
from torch import nn

np.random.seed(5)
torch.manual_seed(5)
houses = pd.DataFrame({
    "rooms": np.random.randint(1, 8, 200),
    "area": np.random.uniform(30, 200, 200),
    "age": np.random.uniform(0, 90, 200),
})
houses["price"] = houses.rooms * 12 + houses.area * 1.5 - houses.age * 0.2
features = ["rooms", "area", "age"]
centre, spread = houses[features].mean(), houses[features].std()


class PriceNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, table):
        price = self.layers(table)
        return torch.squeeze(price)


def prepare(frame):
    return torch.tensor(((frame[features] - centre) / spread).values, dtype=torch.float32)


X, y = prepare(houses), torch.tensor(houses["price"].values, dtype=torch.float32) / 100
net = PriceNet()
adam = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(10):
    for part in torch.randperm(len(X)).split(40):
        adam.zero_grad()
        nn.functional.mse_loss(net(X[part]), y[part]).backward()
        adam.step()

net.eval()
with torch.no_grad():
    offer = pd.DataFrame({"rooms": [3], "area": [75.0], "age": [12.0]})
    print("estimate:", float(net(prepare(offer)) * 100))
