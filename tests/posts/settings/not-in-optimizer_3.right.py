# line 41: the bottleneck layer is made in the first forward pass, after the optimizer was built, so it is never trained
import torch
from torch import nn


class FlexibleEncoder(nn.Module):
    def __init__(self, code=6, inputs=None):
        super().__init__()
        self.code = code
        self.squash = None if inputs is None else nn.Linear(inputs, code)
        self.expand = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        flat = x.flatten(1)
        if self.squash is None:
            self.squash = nn.Linear(flat.shape[1], self.code)
        return self.expand(torch.tanh(self.squash(flat)))


class Runner:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def epoch(self, loader):
        self.model.train()
        total = 0.0
        for x, y in loader:
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
        return total / len(loader.dataset)


torch.manual_seed(48)
digit = torch.randint(10, (500,))
strokes = torch.randn(10, 8, 8)[digit] + 0.8 * torch.randn(500, 8, 8)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(strokes, digit), batch_size=50, shuffle=True)
model = FlexibleEncoder(inputs=64)
runner = Runner(model, lr=3e-3)
for epoch in range(5):
    print("epoch", epoch, "loss", round(runner.epoch(loader), 4))
