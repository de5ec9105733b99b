# Export of the load forecaster to TorchScript for the C++ service, plus the python client we test it with
import io
import math
import torch
from torch import nn

torch.manual_seed(0)
D_MODEL = 32


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:x.size(1)]


class LoadForecaster(nn.Module):
    """history (batch, time, 3) -> next value (batch, 1)"""

    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(3, D_MODEL)
        self.positions = SinusoidalPositions(D_MODEL)
        self.mix = nn.Conv1d(D_MODEL, D_MODEL, kernel_size=5, padding=2)
        self.norm = nn.LayerNorm(D_MODEL)
        self.out = nn.Linear(D_MODEL, 1)

    def forward(self, history):
        h = self.positions(self.inp(history))
        h = h + torch.relu(self.mix(h.transpose(1, 2)).transpose(1, 2))
        return self.out(self.norm(h).mean(dim=1))


def synthetic_load(n_hours):
    t = torch.arange(n_hours, dtype=torch.float32)
    load = 0.6 * torch.sin(2 * math.pi * t / 24) + 0.2 * torch.sin(2 * math.pi * t / 168)
    temp = torch.cos(2 * math.pi * t / 24 + 0.5)
    weekend = ((t // 24) % 7 >= 5).float()
    return torch.stack([load + 0.05 * torch.randn(n_hours), temp, weekend], dim=1)


def sample_batch(series, length, batch=64):
    starts = torch.randint(0, len(series) - length - 1, (batch,))
    x = torch.stack([series[s:s + length] for s in starts])
    y = torch.stack([series[s + length, :1] for s in starts])
    return x, y


series = synthetic_load(24 * 7 * 12)
model = LoadForecaster()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
lengths = [24, 48, 96]
for step in range(240):
    x, y = sample_batch(series, lengths[step % 3])
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 80 == 79:
        print("step", step + 1, "mse %.4f" % loss.item())

# ---- export ----
model.eval()
example = torch.randn(1, 48, 3)
with torch.no_grad():
    scripted = torch.jit.trace(model, example)
buffer = io.BytesIO()
torch.jit.save(scripted, buffer)
buffer.seek(0)


# ---- service ----
class ForecastService:
    def __init__(self, blob):
        self.module = torch.jit.load(blob)
        self.module.eval()

    def predict(self, rows):
        history = torch.tensor(rows, dtype=torch.float32).unsqueeze(0)
        with torch.no_grad():
            return self.module(history).item()


service = ForecastService(buffer)
requests = {
    "station-a": series[-48:].tolist(),
    "station-b": series[-96:].tolist(),
    "station-c": series[-24:].tolist(),
}
for name, rows in requests.items():
    print(f"{name}: {service.predict(rows):+.3f}  ({len(rows)} h of history)")
