import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load_cars(n=90):
    rng = np.random.RandomState(11)
    weight = rng.uniform(0.8, 2.4, n)
    power = rng.uniform(40, 220, n) / 100
    year = rng.randint(0, 13, n) / 10
    mpg = 45 - 11 * weight - 3 * power + 4 * year + rng.randn(n)
    features = np.stack([weight, power, year], axis=1)
    return features.astype(np.float32), mpg.astype(np.float32).reshape(-1, 1)


class LinearRegression(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.linear = nn.Linear(inputs, 1)

    def forward(self, x):
        return self.linear(x)


torch.manual_seed(0)
features, mpg = load_cars()
features = (features - features.mean(0)) / features.std(0)
split = 72
train = DataLoader(TensorDataset(torch.from_numpy(features[:split]),
                                 torch.from_numpy(mpg[:split])),
                   batch_size=12, shuffle=True)
test_x, test_y = torch.from_numpy(features[split:]), torch.from_numpy(mpg[split:])

model = LinearRegression(3)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for epoch in range(1, 6):
    for x, y in train:
        y_hat = model(x)
        loss = criterion(y_hat, y)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        test_loss = criterion(model(test_x), test_y)
    print(f"Epoch {epoch}: train {loss.item():.3f} test {test_loss.item():.3f}")

weights = model.linear.weight.detach().numpy().ravel()
print("weights:", weights.round(2), "bias:", round(model.linear.bias.item(), 2))
