import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CONFIG = {
    "n_sensors": 6,
    "window": 100,
    "batch_size": 32,
    "lr": 2e-3,
    "epochs": 4,
    "quantile": 0.99,
    "seed": 21,
}


def simulate_pump(n_windows, cfg, rng, faulty=False):
    t = np.arange(cfg["window"])
    phase = rng.uniform(0, 2 * np.pi, (n_windows, 1, cfg["n_sensors"]))
    freq = np.linspace(0.1, 0.4, cfg["n_sensors"])
    data = np.sin(t[None, :, None] * freq + phase) + 0.1 * rng.normal(size=(n_windows, cfg["window"], cfg["n_sensors"]))
    if faulty:
        data[:, 40:60] += rng.normal(0, 1.5, (n_windows, 20, cfg["n_sensors"]))
    return torch.tensor(data, dtype=torch.float32)


class ConvAutoencoder(nn.Module):
    def __init__(self, n_sensors):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(n_sensors, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv1d(16, 8, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose1d(8, 16, 3, stride=2, padding=1, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose1d(16, n_sensors, 3, stride=2, padding=1, output_padding=1),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x.transpose(1, 2))).transpose(1, 2)


class Trainer:
    def __init__(self, model, cfg):
        self.model = model
        self.cfg = cfg
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
        self.criterion = nn.MSELoss()

    def fit(self, windows):
        loader = DataLoader(TensorDataset(windows), batch_size=self.cfg["batch_size"], shuffle=True)
        for epoch in range(self.cfg["epochs"]):
            self.model.train()
            losses = []
            for (x,) in loader:
                recon = self.model(x)
                loss = self.criterion(recon, x)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item())
            print(f"epoch {epoch + 1}: reconstruction loss {np.mean(losses):.4f}")

    @torch.no_grad()
    def score(self, windows):
        self.model.eval()
        return ((self.model(windows) - windows) ** 2).mean(dim=(1, 2))


def main():
    torch.manual_seed(CONFIG["seed"])
    rng = np.random.default_rng(CONFIG["seed"])
    normal = simulate_pump(640, CONFIG, rng)
    held_out = simulate_pump(200, CONFIG, rng)
    faulty = simulate_pump(50, CONFIG, rng, faulty=True)

    trainer = Trainer(ConvAutoencoder(CONFIG["n_sensors"]), CONFIG)
    trainer.fit(normal)

    threshold = torch.quantile(trainer.score(normal), CONFIG["quantile"])
    false_alarms = (trainer.score(held_out) > threshold).float().mean().item()
    detected = (trainer.score(faulty) > threshold).float().mean().item()
    print(f"threshold {threshold:.4f}  false alarms {false_alarms:.3f}  detected {detected:.3f}")


if __name__ == "__main__":
    main()
