import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

HISTORY, FORECAST, NWP_VARS = 8, 4, 3
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def make_site_table(n_steps=1000, seed=11):
    rng = np.random.default_rng(seed)
    index = pd.date_range("2024-05-01", periods=n_steps, freq="30min")
    hour = index.hour + index.minute / 60
    sun = np.clip(np.sin((hour - 6) / 12 * np.pi), 0, None)
    cloud = np.clip(pd.Series(rng.normal(0.4, 0.4, n_steps)).rolling(8, min_periods=1).mean(), 0, 1).to_numpy()
    table = pd.DataFrame(index=index)
    table["generation"] = sun * (1 - 0.7 * cloud)
    table["radiation"] = sun * (1 - 0.6 * cloud) + 0.05 * rng.normal(size=n_steps)
    table["cloud"] = cloud
    table["temperature"] = 12 + 8 * sun + rng.normal(size=n_steps)
    return table


class SiteDataset(Dataset):
    def __init__(self, table, step=2):
        values = table.to_numpy(dtype=np.float32)
        self.generation = torch.from_numpy(values[:, 0])
        self.nwp = torch.from_numpy(values[:, 1:])
        self.t0 = list(range(HISTORY, len(values) - FORECAST, step))

    def __len__(self):
        return len(self.t0)

    def __getitem__(self, i):
        t0 = self.t0[i]
        return {
            "history": self.generation[t0 - HISTORY:t0],
            "nwp": self.nwp[t0:t0 + FORECAST],
            "target": self.generation[t0:t0 + FORECAST],
        }


class DataModule:
    def __init__(self, table, batch_size=16, train_fraction=0.75):
        split = int(len(table) * train_fraction)
        self.batch_size = batch_size
        self.train_data = SiteDataset(table.iloc[:split])
        self.val_data = SiteDataset(table.iloc[split:])

    def train_dataloader(self):
        return DataLoader(self.train_data, batch_size=self.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_data, batch_size=self.batch_size, shuffle=False)


class FusionNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.history_encoder = nn.Sequential(
            nn.Linear(HISTORY, width), nn.BatchNorm1d(width), nn.LeakyReLU())
        self.nwp_encoder = nn.Sequential(
            nn.Flatten(), nn.Linear(FORECAST * NWP_VARS, width), nn.BatchNorm1d(width), nn.LeakyReLU())
        self.output = nn.Sequential(nn.Linear(2 * width, width), nn.LeakyReLU(), nn.Linear(width, FORECAST))

    def forward(self, batch):
        h = self.history_encoder(batch["history"])
        n = self.nwp_encoder(batch["nwp"])
        return self.output(torch.cat((h, n), dim=1))


def to_device(batch):
    return {key: value.to(device) for key, value in batch.items()}


def main():
    torch.manual_seed(0)
    data = DataModule(make_site_table())
    model = FusionNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(4):
        model.train()
        for batch in map(to_device, data.train_dataloader()):
            loss = F.l1_loss(model(batch), batch["target"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            errors = [(model(b) - b["target"]).abs().mean(1) for b in map(to_device, data.val_dataloader())]
        print(f"epoch {epoch}: val mae {torch.cat(errors).mean().item():.4f}")


if __name__ == "__main__":
    main()
