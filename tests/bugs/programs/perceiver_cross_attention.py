import torch
from torch import nn


class CrossAttend(nn.Module):
    """Latent array reads the byte array."""

    def __init__(self, latent_dim, input_dim, heads):
        super().__init__()
        self.norm_q = nn.LayerNorm(latent_dim)
        self.norm_kv = nn.LayerNorm(input_dim)
        self.attn = nn.MultiheadAttention(
            latent_dim,
            heads,
            batch_first=True,
        )

    def forward(self, latents, inputs):
        q = self.norm_q(latents)
        kv = self.norm_kv(inputs)
        read, _ = self.attn(q, kv, kv, need_weights=False)
        return latents + read


class Model(nn.Module):
    def __init__(self, n_latents=16, latent_dim=64, input_dim=40, classes=10):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(n_latents, latent_dim) * 0.02)
        self.read = CrossAttend(latent_dim, input_dim, heads=4)
        self.head = nn.Linear(latent_dim, classes)

    def forward(self, byte_array):
        b = byte_array.shape[0]
        z = self.latents.unsqueeze(0).expand(b, -1, -1)
        z = self.read(z, byte_array)
        return self.head(z.mean(dim=1))


def example_inputs():
    return (torch.randn(3, 100, 40),)
