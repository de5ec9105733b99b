import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class PositionalEncoding(nn.Module):
    """Sinusoidal codes added to a sequence-first tensor."""

    def __init__(self, d_model: int, max_len: int = 500):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        codes = torch.zeros(max_len, d_model)
        codes[:, 0::2] = torch.sin(position * div_term)
        codes[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("codes", codes.unsqueeze(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.codes[: x.size(0)]


class ImageEncoder(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=4, padding=2), nn.ReLU(),
            nn.Conv2d(16, dim, 3, stride=2, padding=1), nn.ReLU(),
        )

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.net(image).flatten(2).permute(2, 0, 1)


class ChunkPolicy(nn.Module):
    def __init__(self, joint_dim=7, dim=64, heads=4, chunk=10, latent_dim=16):
        super().__init__()
        self.latent_dim = latent_dim
        self.image_encoder = ImageEncoder(dim)
        self.joint_proj = nn.Linear(joint_dim, dim)
        self.latent_proj = nn.Linear(latent_dim, dim)
        self.action_proj = nn.Linear(joint_dim, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.posterior = nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, heads, 128, dropout=0.0), 1)
        self.to_latent = nn.Linear(dim, 2 * latent_dim)
        self.transformer = nn.Transformer(dim, heads, 1, 1, 128, dropout=0.0)
        self.query = nn.Embedding(chunk, dim)
        self.pos = PositionalEncoding(dim)
        self.head = nn.Linear(dim, joint_dim)

    def encode_latent(self, joints, actions):
        act = self.action_proj(actions).transpose(0, 1)
        joint = self.joint_proj(joints).unsqueeze(0)
        tokens = torch.cat([self.cls.expand(-1, joints.size(0), -1), joint, act], dim=0)
        hidden = self.posterior(self.pos(tokens))[0]
        return self.to_latent(hidden).chunk(2, dim=-1)

    def forward(self, image, joints, actions=None):
        batch = joints.size(0)
        if actions is not None:
            mu, logvar = self.encode_latent(joints, actions)
            z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        else:
            mu = logvar = z = torch.zeros(batch, self.latent_dim)
        memory = torch.cat([
            self.latent_proj(z).unsqueeze(0),
            self.joint_proj(joints).unsqueeze(0),
            self.image_encoder(image),
        ], dim=0)
        query = self.query.weight.unsqueeze(1).expand(-1, batch, -1)
        out = self.transformer(self.pos(memory), query)
        return self.head(out).transpose(0, 1), mu, logvar


def demonstrations(n):
    joints = torch.randn(n, 7)
    t = torch.linspace(0, 1, 10).view(1, 10, 1)
    return TensorDataset(torch.rand(n, 3, 48, 48), joints, joints.unsqueeze(1) * (1 - t))


def main():
    torch.manual_seed(0)
    policy = ChunkPolicy()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-4, weight_decay=1e-4)
    for epoch in range(2):
        for image, joints, actions in DataLoader(demonstrations(48), batch_size=8, shuffle=True):
            pred, mu, logvar = policy(image, joints, actions)
            l1 = (pred - actions).abs().mean()
            kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(-1).mean()
            loss = l1 + 0.1 * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: l1 {l1.item():.4f} kl {kl.item():.4f}")


if __name__ == "__main__":
    main()
