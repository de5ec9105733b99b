import math

import torch
import torch.nn as nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class FourierFeatures(nn.Module):
    def __init__(self, num_bands, max_freq):
        super().__init__()
        self.num_bands = num_bands
        self.register_buffer("bands", math.pi * torch.linspace(1.0, max_freq, num_bands))

    def forward(self, coords):
        scaled = coords.unsqueeze(-1) * self.bands
        features = torch.cat([scaled.sin(), scaled.cos()], dim=-1)
        return features.flatten(1)


class CoordinateField(nn.Module):
    def __init__(self, in_dim=2, num_bands=8, max_freq=6.0, width=64, out_dim=1):
        super().__init__()
        self.encode = FourierFeatures(num_bands, max_freq)
        self.body = nn.Sequential(
            nn.Linear(in_dim * num_bands * 2, width),
            nn.GELU(),
            nn.Linear(width, width),
            nn.GELU(),
            nn.Linear(width, out_dim),
        )

    def forward(self, coords):
        return self.body(self.encode(coords))


def sample_batch(batch_size):
    coords = torch.rand(batch_size, 2) * 2 - 1
    x, y = coords[:, :1], coords[:, 1:]
    values = torch.sin(5 * x) * torch.cos(3 * y)
    return coords, values


def evaluate(model, criterion, points=1024):
    model.eval()
    coords, values = sample_batch(points)
    with torch.no_grad():
        prediction = model(coords.to(device))
    return criterion(prediction, values.to(device)).item()


def main():
    torch.manual_seed(3)
    model = CoordinateField().to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for step in range(200):
        model.train()
        coords, values = sample_batch(256)
        coords, values = coords.to(device), values.to(device)
        optimizer.zero_grad()
        loss = criterion(model(coords), values)
        loss.backward()
        optimizer.step()
        if (step + 1) % 50 == 0:
            print(f"step {step + 1}: train {loss.item():.4f} eval {evaluate(model, criterion):.4f}")


if __name__ == "__main__":
    main()
