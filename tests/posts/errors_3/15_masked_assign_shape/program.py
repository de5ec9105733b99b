import torch
import torch.nn as nn

torch.manual_seed(0)


class MaskedAutoEncoder(nn.Module):
    def __init__(self, n_sensors, dim=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_sensors, dim), nn.ReLU())
        self.decoder = nn.Linear(dim, n_sensors)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def corrupt(x, rate):
    """Replace a share of the rows by the rows of another sample."""
    noisy = x.clone()
    rows = torch.rand(x.size(0)) < rate
    other = x[torch.randperm(x.size(0))]
    noisy[rows] = other
    return noisy, rows


t = torch.linspace(0, 20, 500).unsqueeze(1)
signals = torch.sin(t * torch.rand(1, 8) + torch.rand(1, 8))

model = MaskedAutoEncoder(8)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for step in range(30):
    batch = signals[torch.randint(0, 500, (64,))]
    noisy, rows = corrupt(batch, rate=0.3)
    recon = model(noisy)
    loss = (recon - batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f} swapped {int(rows.sum())}")
