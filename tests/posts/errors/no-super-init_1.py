# line 29: the subclass of the base model sets its layers before it calls the base constructor; mended by: calling super().__init__ first
import torch
import torch.nn as nn


class BaseDetector(nn.Module):
    """Common parts of the anomaly detectors."""

    def __init__(self, window, threshold_q=0.95):
        super().__init__()
        self.window = window
        self.threshold_q = threshold_q
        self.register_buffer("threshold", torch.tensor(float("inf")))

    def error(self, x):
        return (self(x) - x).pow(2).mean(dim=(1, 2))

    @torch.no_grad()
    def calibrate(self, x):
        self.threshold.copy_(torch.quantile(self.error(x), self.threshold_q))

    @torch.no_grad()
    def flag(self, x):
        return self.error(x) > self.threshold


class ConvAutoencoder(BaseDetector):
    def __init__(self, n_sensors, window, width=12):
        self.enc = nn.Sequential(
            nn.Conv1d(n_sensors, width, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv1d(width, width // 2, 4, stride=2, padding=1),
        )
        self.dec = nn.Sequential(
            nn.ConvTranspose1d(width // 2, width, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose1d(width, n_sensors, 4, stride=2, padding=1),
        )
        super().__init__(window)

    def forward(self, x):
        return self.dec(self.enc(x))


def pump_signals(n, n_sensors=3, window=32, faulty=False):
    t = torch.arange(window) / window
    freq = torch.randint(1, 4, (n, n_sensors, 1))
    x = torch.sin(2 * torch.pi * freq * t)
    if faulty:
        x[:, :, window // 2:] += torch.randn(n, n_sensors, window // 2)
    return x + 0.05 * torch.randn_like(x)


torch.manual_seed(0)
normal = pump_signals(128)
detector = ConvAutoencoder(3, 32)
opt = torch.optim.Adam(detector.parameters(), lr=5e-3)
for epoch in range(6):
    for x in normal[torch.randperm(128)].split(32):
        loss = detector.error(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
detector.calibrate(pump_signals(64))
print("false alarms", detector.flag(pump_signals(64)).float().mean().item())
print("detected", detector.flag(pump_signals(64, faulty=True)).float().mean().item())
