import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingLR

torch.manual_seed(0)


class Autoencoder(nn.Module):
    def __init__(self, d_in=40, d_code=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d_in, 24), nn.ELU(), nn.Linear(24, d_code))
        self.dec = nn.Sequential(nn.Linear(d_code, 24), nn.ELU(), nn.Linear(24, d_in))

    def forward(self, x):
        return self.dec(self.enc(x))


def configure(model, lr, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-4)
    scheduler = CosineAnnealingLR(optimizer, T_max=epochs, eta_min=1e-5)
    return optimizer, scheduler


def fit(model, data, epochs=8, lr=3e-3):
    optimizer, scheduler = configure(model, lr, epochs)
    for epoch in range(epochs):
        total = 0.0
        for batch in data[torch.randperm(len(data))].split(64):
            loss = nn.functional.mse_loss(model(batch), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        scheduler.step()
        print(f"{epoch} {total / len(data):.4f} lr {scheduler.get_last_lr()[0]:.5f}")


latent = torch.randn(640, 6)
data = torch.tanh(latent @ torch.randn(6, 40))
fit(Autoencoder(), data)
