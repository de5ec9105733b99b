import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}


class Regressor(nn.Module):
    def __init__(self, n_in, width, depth, activation):
        super().__init__()
        act = ACTIVATIONS[activation]
        layers = [nn.Linear(n_in, width), act()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), act()]
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)
        self.reset(activation)

    def reset(self, activation):
        gain = nn.init.calculate_gain(activation)
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight, gain=gain)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
x = torch.rand(800, 5)
y = (10 * torch.sin(3.14 * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]).unsqueeze(1)
y = (y - y.mean()) / y.std()
loader = DataLoader(TensorDataset(x[:600], y[:600]), batch_size=50, shuffle=True)

results = {}
for activation in ("relu", "gelu"):
    model = Regressor(5, 64, 3, activation)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.MSELoss()
    for epoch in range(10):
        for xb, yb in loader:
            optimizer.zero_grad()
            loss_fn(model(xb), yb).backward()
            optimizer.step()
    with torch.no_grad():
        results[activation] = loss_fn(model(x[600:]), y[600:]).item()

print(results)
