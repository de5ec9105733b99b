import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

FRAMES = 60
BINS = 16
D_MODEL = 32


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(max_len).unsqueeze(1).float()
        div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div)
        pe[:, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class FrameTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.src_in = nn.Linear(BINS, D_MODEL)
        self.tgt_in = nn.Linear(BINS, D_MODEL)
        self.pos = PositionalEncoding(D_MODEL)
        self.transformer = nn.Transformer(
            d_model=D_MODEL, nhead=4, num_encoder_layers=2, num_decoder_layers=2,
            dim_feedforward=64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(D_MODEL, BINS)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1)).to(src.device)
        memory_in = self.pos(self.src_in(src))
        decoded = self.transformer(memory_in, self.tgt_in(tgt), tgt_mask=mask)
        return self.out(decoded)


def synth(n, seed):
    """Noisy spectrogram in, clean spectrogram out."""
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, FRAMES).view(1, FRAMES, 1)
    band = torch.arange(BINS).view(1, 1, BINS)
    speed = torch.rand(n, 1, 1, generator=g) * 2 + 1
    phase = torch.rand(n, 1, 1, generator=g) * 6.28
    centre = 8 + 6 * torch.sin(6.28 * speed * t + phase)
    clean = torch.exp(-0.5 * ((band - centre) / 1.5) ** 2)
    noisy = clean + 0.2 * torch.randn(clean.shape, generator=g)
    return noisy, clean


def run():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(TensorDataset(*synth(96, 1)), batch_size=16, shuffle=True)
    noisy_val, clean_val = [t.to(device) for t in synth(16, 2)]

    model = FrameTransformer().to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(12):
        model.train()
        running = 0.0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            pred = model(x, torch.zeros_like(y))
            loss = criterion(pred, y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch:2d}  loss {running / len(loader):.5f}")

    model.eval()
    with torch.no_grad():
        frames = clean_val[:, :1]
        for _ in range(FRAMES - 1):
            nxt = model(noisy_val, frames)[:, -1:]
            frames = torch.cat([frames, nxt], dim=1)
    print(f"val mse {criterion(frames, clean_val).item():.5f}")
    print("spread over time of one band, output:", f"{frames[0, 1:, 8].std().item():.5f}",
          "clean:", f"{clean_val[0, 1:, 8].std().item():.5f}")


if __name__ == "__main__":
    run()
