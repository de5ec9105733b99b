import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, n_in, latent):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, latent))

    def forward(self, x):
        return self.net(x)


class Decoder(nn.Module):
    def __init__(self, latent, n_out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, n_out))

    def forward(self, z):
        return self.net(z)


basis = torch.randn(4, 30)
data = torch.randn(1000, 4) @ basis + 0.05 * torch.randn(1000, 30)
loader = DataLoader(TensorDataset(data), batch_size=50, shuffle=True)

encoder = Encoder(30, 4)
decoder = Decoder(4, 30)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam([encoder.parameters(), decoder.parameters()], lr=1e-3)

for epoch in range(10):
    epoch_loss = 0.0
    for (x,) in loader:
        x_hat = decoder(encoder(x))
        loss = criterion(x_hat, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    if epoch % 3 == 0:
        print(f"epoch {epoch} reconstruction {epoch_loss / len(loader):.4f}")
