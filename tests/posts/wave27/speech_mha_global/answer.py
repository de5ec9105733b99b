import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, channels, max_len=2000):
        super().__init__()
        position = torch.arange(max_len).float().unsqueeze(1)
        div = torch.exp(torch.arange(0, channels, 2).float() * (-torch.log(torch.tensor(10000.0)) / channels))
        pe = torch.zeros(max_len, channels)
        pe[:, 0::2] = torch.sin(position * div)
        pe[:, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class GlobalAttention(nn.Module):
    def __init__(self, channels, n_head=4, dropout=0.1):
        super().__init__()
        self.norm1 = nn.LayerNorm(channels)
        self.pos_enc = PositionalEncoding(channels)
        self.attn = nn.MultiheadAttention(channels, n_head, dropout=dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.norm2 = nn.LayerNorm(channels)

    def forward(self, x):
        x = x.transpose(1, 2)
        residual = self.norm1(x)
        y = self.pos_enc(residual)
        y = self.attn(y, y, y)[0]
        y = self.norm2(self.dropout(y) + residual)
        return y.transpose(1, 2)


class Separator(nn.Module):
    def __init__(self, n_src=2, channels=64, kernel=16):
        super().__init__()
        self.n_src = n_src
        self.encoder = nn.Conv1d(1, channels, kernel, stride=kernel // 2, bias=False)
        self.local = nn.Sequential(
            nn.Conv1d(channels, channels, 5, padding=2, groups=channels), nn.GroupNorm(1, channels), nn.PReLU(),
        )
        self.globalatt = GlobalAttention(channels)
        self.mask = nn.Conv1d(channels, channels * n_src, 1)
        self.decoder = nn.ConvTranspose1d(channels, 1, kernel, stride=kernel // 2, bias=False)

    def forward(self, wav):
        enc = self.encoder(wav.unsqueeze(1))
        b, c, t = enc.shape
        feat = self.globalatt(self.local(enc))
        masks = torch.relu(self.mask(feat)).view(b, self.n_src, c, t)
        sources = (masks * enc.unsqueeze(1)).view(b * self.n_src, c, t)
        return self.decoder(sources).view(b, self.n_src, -1)


def neg_si_snr(est, ref, eps=1e-8):
    est = est - est.mean(-1, keepdim=True)
    ref = ref - ref.mean(-1, keepdim=True)
    proj = (est * ref).sum(-1, keepdim=True) * ref / (ref.pow(2).sum(-1, keepdim=True) + eps)
    noise = est - proj
    ratio = proj.pow(2).sum(-1) / (noise.pow(2).sum(-1) + eps)
    return -10 * torch.log10(ratio + eps).mean()


def make_batch(batch_size, length=1600):
    t = torch.arange(length) / 8000.0
    freq = torch.rand(batch_size, 2, 1) * 400 + torch.tensor([[[100.0], [900.0]]])
    refs = torch.sin(2 * torch.pi * freq * t)
    return refs.sum(1), refs


def main():
    torch.manual_seed(0)
    model = Separator()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(20):
        mixture, refs = make_batch(8)
        est = model(mixture)
        loss = neg_si_snr(est, refs)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step:3d}  loss {loss.item():.3f}")

    model.eval()
    with torch.no_grad():
        mixture, refs = make_batch(4)
        print("valid loss", neg_si_snr(model(mixture), refs).item())


if __name__ == "__main__":
    main()
