# line 16: the root of the squared distances is taken with the zero of each row to itself, which topk then skips
import torch
import torch.nn as nn
import torch.nn.functional as F


class NearestNeighbourEntropy(nn.Module):
    """Spreads a batch: the log distance to the nearest other row."""

    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, codes):
        gaps = codes[:, None, :] - codes[None, :, :]
        length = gaps.square().sum(dim=2).clamp(min=1e-12).pow(0.5)
        nearest = length.topk(2, dim=1, largest=False).values[:, 1]
        return -torch.log(nearest + self.eps).mean()


class Encoder(nn.Module):
    def __init__(self, inputs=20, width=32, code=3):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, code))
        self.back = nn.Linear(code, inputs)

    def forward(self, x):
        code = F.normalize(self.layers(x), dim=1)
        return code, self.back(code)


def train(model, rows, epochs=6, spread=0.05):
    regularizer = NearestNeighbourEntropy()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for batch in rows[torch.randperm(len(rows))].split(64):
            optimizer.zero_grad()
            code, rebuilt = model(batch)
            loss = F.mse_loss(rebuilt, batch) + spread * regularizer(code)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        print("epoch", epoch, total / len(rows))


torch.manual_seed(0)
rows = torch.randn(512, 3) @ torch.randn(3, 20)
encoder = Encoder()
train(encoder, rows)
encoder.eval()
with torch.no_grad():
    print("reconstruction", F.mse_loss(encoder(rows)[1], rows).item())
