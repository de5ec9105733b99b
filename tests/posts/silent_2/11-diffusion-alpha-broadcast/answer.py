import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

IMG_SIZE = 32
BATCH_SIZE = 32
T = 200
EPOCHS = 2

betas = torch.linspace(1e-4, 0.02, T)
alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)
sqrt_alphas_cumprod = alphas_cumprod.sqrt()
sqrt_one_minus_alphas_cumprod = (1.0 - alphas_cumprod).sqrt()


def extract(values, t, ndim):
    return values.to(t.device)[t].view(-1, *[1] * (ndim - 1))


def forward_diffusion(x_0, t, noise):
    mean = extract(sqrt_alphas_cumprod, t, x_0.ndim) * x_0
    return mean + extract(sqrt_one_minus_alphas_cumprod, t, x_0.ndim) * noise


class TinyUnet(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.time_mlp = nn.Sequential(nn.Embedding(T, ch), nn.Linear(ch, ch), nn.SiLU())
        self.inc = nn.Conv2d(1, ch, 3, padding=1)
        self.down = nn.Conv2d(ch, ch * 2, 4, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(ch * 2, ch, 4, stride=2, padding=1)
        self.out = nn.Conv2d(ch * 2, 1, 3, padding=1)

    def forward(self, x, t):
        emb = self.time_mlp(t)[:, :, None, None]
        h1 = F.silu(self.inc(x) + emb)
        h2 = F.silu(self.down(h1))
        h3 = F.silu(self.up(h2) + emb)
        return self.out(torch.cat([h1, h3], dim=1))


def get_loss(model, x_0, t):
    noise = torch.randn_like(x_0)
    x_noisy = forward_diffusion(x_0, t, noise)
    return F.l1_loss(model(x_noisy, t), noise)


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = torch.rand(256, 1, IMG_SIZE, IMG_SIZE) * 2 - 1
    loader = DataLoader(TensorDataset(data), batch_size=BATCH_SIZE, shuffle=True, drop_last=True)
    model = TinyUnet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(EPOCHS):
        for step, (batch,) in enumerate(loader):
            optimizer.zero_grad()
            t = torch.randint(0, T, (BATCH_SIZE,), device=device).long()
            loss = get_loss(model, batch.to(device), t)
            loss.backward()
            optimizer.step()
            if step % 4 == 0:
                print(f"Epoch {epoch} | step {step:03d} Loss: {loss.item():.5f}")


main()
