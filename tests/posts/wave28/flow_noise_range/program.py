from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class TrainConfig:
    # restrict training to a part of the noise range, 0.0 = clean, 1.0 = pure noise.
    # a high minimum makes the model learn composition rather than fine detail
    min_noising_strength: float = 0.6
    max_noising_strength: float = 1.0
    timestep_shift: float = 1.0
    batch_size: int = 16
    learning_rate: float = 1e-3
    steps: int = 120
    seed: int = 42


class FlowScheduler:
    """Rectified flow: x_sigma = (1 - sigma) * x0 + sigma * noise, sampled from sigma 1 down to 0."""

    def __init__(self, num_train_timesteps=1000):
        self.num_train_timesteps = num_train_timesteps
        self.sigmas = torch.arange(num_train_timesteps, 0, -1, dtype=torch.float32) / num_train_timesteps
        self.timesteps = self.sigmas * num_train_timesteps

    def step(self, velocity, sample, sigma, sigma_next):
        return sample + (sigma_next - sigma) * velocity


class Transformer2D(nn.Module):
    def __init__(self, channels=4, dim=32):
        super().__init__()
        self.time_in = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.patch_in = nn.Conv2d(channels, dim, 2, stride=2)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.patch_out = nn.ConvTranspose2d(dim, channels, 2, stride=2)
        self.dim = dim

    def time_embedding(self, t):
        freqs = torch.exp(-torch.arange(self.dim // 2) * 9.2 / (self.dim // 2))
        args = t[:, None].float() * freqs
        return self.time_in(torch.cat([args.cos(), args.sin()], dim=1))

    def forward(self, x, timestep):
        h = self.patch_in(x)
        b, d, height, width = h.shape
        tokens = h.flatten(2).transpose(1, 2) + self.time_embedding(timestep)[:, None]
        tokens = self.layer(tokens)
        return self.patch_out(tokens.transpose(1, 2).view(b, d, height, width))


class FlowSetup:
    def __init__(self, config):
        self.config = config
        self.scheduler = FlowScheduler()
        self.generator = torch.Generator().manual_seed(config.seed)
        self.model = Transformer2D()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=config.learning_rate)

    def _get_timestep(self, batch_size):
        n = self.scheduler.num_train_timesteps
        low = int(n * self.config.min_noising_strength)
        high = int(n * self.config.max_noising_strength)
        index = torch.randint(low, high, (batch_size,), generator=self.generator)
        if self.config.timestep_shift != 1.0:
            u = index.float() / n
            shift = self.config.timestep_shift
            index = (n * shift * u / (1 + (shift - 1) * u)).long().clamp(0, n - 1)
        return index

    def predict(self, latents):
        noise = torch.randn(latents.shape, generator=self.generator)
        index = self._get_timestep(latents.size(0))
        sigma = self.scheduler.sigmas[index].view(-1, 1, 1, 1)
        noisy = (1 - sigma) * latents + sigma * noise
        timestep = self.scheduler.timesteps[index]
        return {
            "timestep": timestep,
            "predicted": self.model(noisy, timestep),
            "target": noise - latents,
        }

    def train_step(self, latents):
        out = self.predict(latents)
        loss = F.mse_loss(out["predicted"], out["target"])
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item(), out["timestep"]

    @torch.no_grad()
    def sample(self, n, steps=20):
        x = torch.randn(n, 4, 16, 16, generator=self.generator)
        sigmas = torch.linspace(1, 0, steps + 1)
        for s, s_next in zip(sigmas[:-1], sigmas[1:]):
            v = self.model(x, torch.full((n,), s.item() * 1000))
            x = self.scheduler.step(v, x, s, s_next)
        return x


def concept_latents(n):
    row = torch.linspace(-1, 1, 16).view(1, 1, 16, 1)
    layout = row * torch.tensor([1.0, -1.0, 0.5, -0.5]).view(1, 4, 1, 1)
    return layout + 0.2 * torch.randn(n, 4, 16, 16)


torch.manual_seed(0)
config = TrainConfig()
setup = FlowSetup(config)
data = concept_latents(256)
seen = []
for step in range(config.steps):
    batch = data[torch.randint(0, len(data), (config.batch_size,))]
    loss, timestep = setup.train_step(batch)
    seen.append(timestep)
    if step % 30 == 0:
        print(f"step {step:3d} loss {loss:.4f}")

hist = torch.histc(torch.cat(seen), bins=10, min=0, max=1000)
print("timesteps trained:", [int(v) for v in hist])
images = setup.sample(32)
print(f"layout error of samples: {(images.mean(dim=0) - data.mean(dim=0)).abs().mean():.3f}")
