import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class ClipDataset(Dataset):
    """Short clips: the first frame is the image that has to be animated."""

    def __init__(self, n_clips, frames, size):
        g = torch.Generator().manual_seed(3)
        self.clips = torch.randn(n_clips, 4, frames, size, size, generator=g)
        self.captions = torch.randint(0, 200, (n_clips, 12), generator=g)

    def __len__(self):
        return self.clips.size(0)

    def __getitem__(self, i):
        return {"video": self.clips[i], "caption": self.captions[i], "fps": torch.tensor(8)}


class FrameEmbedder(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.tokens = tokens
        self.proj = nn.Sequential(nn.Conv2d(4, 16, 3, stride=2, padding=1), nn.SiLU(), nn.AdaptiveAvgPool2d(4))
        self.out = nn.Linear(16 * 16, tokens * dim)

    def forward(self, frame):
        h = self.proj(frame).flatten(1)
        return self.out(h).view(frame.size(0), self.tokens, -1)


class Denoiser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inp = nn.Conv3d(4, dim, 3, padding=1)
        self.time = nn.Embedding(1000, dim)
        self.cross = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.out = nn.Conv3d(dim, 4, 3, padding=1)

    def forward(self, x, t, context):
        h = self.inp(x)
        h = h + self.time(t)[:, :, None, None, None]
        b, c, f, hh, ww = h.shape
        seq = h.flatten(2).transpose(1, 2)
        seq = seq + self.cross(seq, context, context, need_weights=False)[0]
        return self.out(seq.transpose(1, 2).reshape(b, c, f, hh, ww))


class LatentVideoDiffusion(nn.Module):
    def __init__(self, dim=32, img_tokens=8, noise_low=0.0, noise_high=0.6):
        super().__init__()
        self.dim, self.img_tokens = dim, img_tokens
        self.noise_low, self.noise_high = noise_low, noise_high
        self.word_emb = nn.Embedding(200, dim)
        self.embedder = FrameEmbedder(img_tokens, dim)
        self.model = Denoiser(dim)
        alphas = torch.cumprod(1 - torch.linspace(1e-4, 2e-2, 1000), dim=0)
        self.register_buffer("alphas_cumprod", alphas)

    def sample_sigma(self, t):
        # noisier condition at later timesteps
        frac = t.float() / 1000
        return (self.noise_low + (self.noise_high - self.noise_low) * frac).view(-1, 1, 1)

    def get_batch_input(self, batch, t):
        x = batch["video"]
        txt_emb = self.word_emb(batch["caption"])
        img_emb = self.embedder(x[:, :, 0])
        sigma_s = self.sample_sigma(t)
        condition_noise = torch.randn_like(img_emb)
        img_emb = img_emb + sigma_s * condition_noise
        return x, torch.cat([txt_emb, img_emb], dim=1)

    def training_step(self, batch):
        t = torch.randint(0, 1000, (batch["video"].size(0),), device=batch["video"].device)
        x, context = self.get_batch_input(batch, t)
        noise = torch.randn_like(x)
        a = self.alphas_cumprod[t].view(-1, 1, 1, 1, 1)
        noisy = a.sqrt() * x + (1 - a).sqrt() * noise
        return torch.mean((self.model(noisy, t, context) - noise) ** 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-4)
    args = parser.parse_args()
    torch.manual_seed(0)
    loader = DataLoader(ClipDataset(16, frames=4, size=8), batch_size=args.batch_size, shuffle=True, drop_last=True)
    ldm = LatentVideoDiffusion()
    opt = torch.optim.AdamW(ldm.parameters(), lr=args.lr)
    for step, batch in zip(range(args.steps), loader):
        loss = ldm.training_step(batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
