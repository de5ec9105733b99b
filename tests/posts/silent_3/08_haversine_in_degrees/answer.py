import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

EARTH_RADIUS_KM = 6371.0


def simulate_trips(n, seed):
    g = np.random.default_rng(seed)
    p_lat, p_lon = 40.75 + g.normal(0, 0.05, n), -73.97 + g.normal(0, 0.05, n)
    d_lat, d_lon = p_lat + g.normal(0, 0.04, n), p_lon + g.normal(0, 0.05, n)
    dy = (d_lat - p_lat) * 111.2
    dx = (d_lon - p_lon) * 111.2 * np.cos(np.deg2rad(p_lat))
    km = np.hypot(dx, dy)
    hour = g.integers(0, 24, n)
    rush = ((hour >= 7) & (hour <= 9)) | ((hour >= 16) & (hour <= 19))
    minutes = 4 + km * np.where(rush, 3.6, 2.2) + g.gamma(2.0, 0.8, n)
    return pd.DataFrame({"p_lat": p_lat, "p_lon": p_lon, "d_lat": d_lat, "d_lon": d_lon,
                         "rush": rush.astype(float), "minutes": minutes})


def haversine(lat1, lon1, lat2, lon2):
    lat1, lon1, lat2, lon2 = (torch.deg2rad(v) for v in (lat1, lon1, lat2, lon2))
    dlat, dlon = lat2 - lat1, lon2 - lon1
    a = torch.sin(dlat / 2) ** 2 + torch.cos(lat1) * torch.cos(lat2) * torch.sin(dlon / 2) ** 2
    return 2 * EARTH_RADIUS_KM * torch.asin(torch.sqrt(a.clamp(0, 1)))


def features(df):
    lat1, lon1, lat2, lon2 = (torch.tensor(df[c].to_numpy()) for c in ("p_lat", "p_lon", "d_lat", "d_lon"))
    dist = haversine(lat1, lon1, lat2, lon2)
    rush = torch.tensor(df["rush"].to_numpy())
    return torch.stack([dist, rush, dist * rush], dim=1).float()


class EtaModel(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(nn.BatchNorm1d(n_in), nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def main():
    torch.manual_seed(0)
    df = simulate_trips(5000, seed=4)
    y = torch.tensor(df["minutes"].to_numpy()).float()
    data = TensorDataset(features(df), y)
    train, val = random_split(data, [4000, 1000], generator=torch.Generator().manual_seed(0))
    train_loader = DataLoader(train, batch_size=128, shuffle=True)
    val_loader = DataLoader(val, batch_size=500)
    model = EtaModel(3)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.SmoothL1Loss()
    print(f"baseline MAE (median) {(y - y.median()).abs().mean():.2f} min")
    for epoch in range(10):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            loss_fn(model(xb), yb).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            mae = sum((model(xb) - yb).abs().sum().item() for xb, yb in val_loader) / len(val)
        print(f"epoch {epoch}: val MAE {mae:.2f} min")


if __name__ == "__main__":
    main()
