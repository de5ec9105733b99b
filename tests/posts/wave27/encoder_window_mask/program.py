import math
import torch
import torch.nn as nn


def window_mask(seq_len, window):
    idx = torch.arange(seq_len)
    distance = (idx[None, :] - idx[:, None]).abs()
    mask = torch.zeros(seq_len, seq_len)
    return mask.masked_fill(distance > window, float("-inf"))


class SinusoidPosition(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        freq = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        table = torch.zeros(max_len, d_model)
        table[:, 0::2] = torch.sin(pos * freq)
        table[:, 1::2] = torch.cos(pos * freq)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class SignalTagger(nn.Module):
    def __init__(self, in_dim, d_model=32, nhead=4, num_layers=2, window=4, num_tags=2):
        super().__init__()
        self.window = window
        self.proj = nn.Linear(in_dim, d_model)
        self.position = SinusoidPosition(d_model)
        self.layers = nn.ModuleList([
            nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward=64, dropout=0.0, batch_first=True)
            for _ in range(num_layers)
        ])
        self.head = nn.Linear(d_model, num_tags)

    def forward(self, x):
        mask = window_mask(x.size(1), self.window).to(x.device)
        h = self.position(self.proj(x))
        for layer in self.layers:
            h = layer(h, src_mask=mask, is_causal=True)
        return self.head(h)


def make_batch(batch_size, seq_len=40, in_dim=4):
    x = torch.randn(batch_size, seq_len, in_dim)
    padded = nn.functional.pad(x[..., 0], (2, 2))
    local = padded.unfold(1, 5, 1).mean(-1)
    return x, (local > 0).long()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = SignalTagger(in_dim=4).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()

    for step in range(200):
        x, y = make_batch(16)
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss = criterion(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")

    model.eval()
    with torch.no_grad():
        x, y = make_batch(64)
        pred = model(x.to(device)).argmax(-1).cpu()
    print(f"tag accuracy {(pred == y).float().mean().item():.4f}")


if __name__ == "__main__":
    main()
