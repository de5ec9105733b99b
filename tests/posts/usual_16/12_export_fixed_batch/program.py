"""Train the pump-vibration classifier and export it for the edge runtime."""
import logging
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.export import Dim
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("pump")

BATCH_SIZE = 32
SEQ_LEN = 50
CHANNELS = 3
HIDDEN = 24
STATES = ("ok", "cavitation", "bearing")
OUT_DIR = Path(tempfile.mkdtemp())


def simulate(n: int) -> TensorDataset:
    state = torch.randint(0, len(STATES), (n,))
    t = torch.arange(SEQ_LEN).float()
    freq = torch.tensor([0.15, 0.45, 0.8])[state]
    wave = torch.sin(freq[:, None] * t[None] + 6.28 * torch.rand(n, 1))
    x = wave[..., None].repeat(1, 1, CHANNELS) + 0.5 * torch.randn(n, SEQ_LEN, CHANNELS)
    return TensorDataset(x, state)


class VibrationGRU(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(CHANNELS)
        self.gru = nn.GRU(CHANNELS, HIDDEN, batch_first=True)
        self.head = nn.Linear(HIDDEN, len(STATES))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h0 = torch.zeros(1, BATCH_SIZE, HIDDEN, device=x.device)
        _, h_n = self.gru(self.norm(x), h0)
        return self.head(h_n[-1])


def train(model: nn.Module, loader: DataLoader, epochs: int) -> None:
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        running = 0.0
        for x, y in loader:
            opt.zero_grad(set_to_none=True)
            loss = loss_fn(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            running += loss.item()
        log.info("epoch %d loss %.3f", epoch, running / len(loader))


@torch.no_grad()
def accuracy(model: nn.Module, loader: DataLoader) -> float:
    hits = [(model(x).argmax(1) == y).float().mean() for x, y in loader]
    return torch.stack(hits).mean().item()


def export(model: nn.Module, path: Path) -> None:
    example = (torch.randn(BATCH_SIZE, SEQ_LEN, CHANNELS),)
    batch = Dim("batch", min=1, max=256)
    program = torch.export.export(model, example, dynamic_shapes={"x": {0: batch}})
    torch.export.save(program, path)
    log.info("exported to %s (%d kB)", path.name, path.stat().st_size // 1024)


def main() -> None:
    torch.manual_seed(0)
    train_loader = DataLoader(simulate(960), batch_size=BATCH_SIZE, shuffle=True)
    test_loader = DataLoader(simulate(320), batch_size=BATCH_SIZE)
    model = VibrationGRU()
    train(model, train_loader, epochs=4)
    model.eval()
    log.info("test accuracy %.3f", accuracy(model, test_loader))

    path = OUT_DIR / "pump.pt2"
    export(model, path)
    deployed = torch.export.load(path).module()
    with torch.no_grad():
        one = deployed(torch.randn(1, SEQ_LEN, CHANNELS))
    log.info("a single window: %s", STATES[one.argmax(1).item()])


if __name__ == "__main__":
    main()
