import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


def exists(v):
    return v is not None


def mask_from_fractions(batch, length, low=0.5, high=0.9):
    """True on the span which is hidden from the condition."""
    frac = torch.empty(batch).uniform_(low, high)
    span = (frac * length).long()
    start = (torch.rand(batch) * (length - span)).long()
    pos = torch.arange(length)
    return (pos >= start[:, None]) & (pos < (start + span)[:, None])


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("freqs", torch.randn(dim // 2))
        self.to_out = nn.Linear(dim, dim)

    def forward(self, t):
        ang = t[:, None] * self.freqs * 2 * math.pi
        return self.to_out(torch.cat((ang.sin(), ang.cos()), dim=-1))


class InfillNet(nn.Module):
    def __init__(self, mel_dim=20, dim=48, phonemes=30):
        super().__init__()
        self.phoneme_emb = nn.Embedding(phonemes, dim)
        self.time_emb = TimeEmbedding(dim)
        self.to_embed = nn.Linear(mel_dim * 2 + dim, dim)
        self.blocks = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(dim, 4, dim * 2, dropout=0.0, batch_first=True), 2)
        self.to_pred = nn.Linear(dim, mel_dim)

    def forward(self, x, *, times, phoneme_ids, cond, cond_mask=None, target=None):
        batch, length, _ = x.shape
        if not exists(cond_mask):
            cond_mask = mask_from_fractions(batch, length)
        cond = cond.masked_fill(cond_mask[..., None], 0.0)
        h = torch.cat((x, cond, self.phoneme_emb(phoneme_ids)), dim=-1)
        h = self.to_embed(h) + self.time_emb(times)[:, None, :]
        pred = self.to_pred(self.blocks(h))
        if not exists(target):
            return pred

        loss = F.mse_loss(pred, target, reduction="none").mean(dim=-1)
        loss = loss.masked_fill(cond_mask, 0.0)
        num = loss.sum(dim=-1)
        den = cond_mask.sum(dim=-1).clamp(min=1e-5)
        return (num / den).mean()


class FlowMatching(nn.Module):
    def __init__(self, net, sigma=1e-2):
        super().__init__()
        self.net = net
        self.sigma = sigma

    def forward(self, mel, phoneme_ids):
        t = torch.rand(mel.shape[0])
        w = t[:, None, None]
        noise = torch.randn_like(mel)
        x_t = (1 - (1 - self.sigma) * w) * noise + w * mel
        flow = mel - (1 - self.sigma) * noise
        return self.net(x_t, times=t, phoneme_ids=phoneme_ids, cond=mel, target=flow)

    @torch.no_grad()
    def sample(self, phoneme_ids, cond, cond_mask, steps=8):
        x = torch.randn_like(cond)
        for i in range(steps):
            t = torch.full((cond.shape[0],), i / steps)
            x = x + self.net(x, times=t, phoneme_ids=phoneme_ids, cond=cond, cond_mask=cond_mask) / steps
        return x


def synth(n, length=32, mel_dim=20, phonemes=30):
    table = torch.randn(phonemes, mel_dim, generator=torch.Generator().manual_seed(0))
    ids = torch.randint(0, phonemes, (n, length // 4)).repeat_interleave(4, dim=1)
    speaker = torch.randn(n, 1, mel_dim) * 0.3
    return ids, table[ids] + speaker


def main():
    random.seed(0)
    torch.manual_seed(0)
    model = FlowMatching(InfillNet())
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(150):
        ids, mel = synth(16)
        loss = model(mel, ids)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if (step + 1) % 50 == 0:
            print(f"step {step + 1}: loss {loss.item():.4f}")

    ids, mel = synth(32)
    hidden = mask_from_fractions(32, 32)
    out = model.sample(ids, mel, hidden)
    print(f"error on the hidden span: {F.mse_loss(out[hidden], mel[hidden]).item():.4f}")


if __name__ == "__main__":
    main()
