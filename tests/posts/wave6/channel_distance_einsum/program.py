import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MahalanobisMask(nn.Module):
    def __init__(self, seq_len):
        super().__init__()
        freq = seq_len // 2 + 1
        self.A = nn.Parameter(0.2 * torch.randn(freq, freq))

    def distance(self, x):
        spectrum = torch.fft.rfft(x, dim=-1).abs()
        diff = spectrum.unsqueeze(2) - spectrum.unsqueeze(1)
        temp = torch.einsum("dd,bxcd->bxcd", self.A, diff)
        return torch.einsum("bxcd,bxcd->bxc", temp, temp)

    def forward(self, x):
        dist = self.distance(x)
        score = 1.0 / (dist + 1.0)
        eye = torch.eye(x.shape[1], device=x.device)
        return score * (1 - eye) + eye


class MaskedChannelAttention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, mask):
        b, c, d = x.shape
        q, k, v = (t.view(b, c, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5
        scores = scores + torch.log(mask.unsqueeze(1))
        y = F.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, c, d))


class DualForecaster(nn.Module):
    def __init__(self, seq_len, pred_len, d_model=32, heads=4):
        super().__init__()
        self.mask_generator = MahalanobisMask(seq_len)
        self.embed = nn.Linear(seq_len, d_model)
        self.attn = MaskedChannelAttention(d_model, heads)
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, pred_len)

    def forward(self, x):
        series = x.transpose(1, 2)
        mean, std = series.mean(-1, keepdim=True), series.std(-1, keepdim=True) + 1e-5
        series = (series - mean) / std
        h = self.embed(series)
        h = self.norm(h + self.attn(h, self.mask_generator(series)))
        return (self.head(h) * std + mean).transpose(1, 2)


def windows(batch, seq_len, pred_len, channels=6):
    t = torch.arange(seq_len + pred_len).view(1, -1, 1) + torch.randint(0, 50, (batch, 1, 1))
    period = torch.tensor([6.0, 6.0, 9.0, 9.0, 14.0, 14.0])[:channels]
    series = torch.sin(2 * torch.pi * t / period) + 0.1 * torch.randn(batch, seq_len + pred_len, channels)
    return series[:, :seq_len], series[:, seq_len:]


model = DualForecaster(seq_len=48, pred_len=12)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(3):
    total = 0.0
    for _ in range(20):
        x, y = windows(32, 48, 12)
        loss = F.l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch", epoch, "train loss", total / 20)
