"""diffusers: the autoencoder between images and latents, without its weights."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

SOURCE = "signatures of https://huggingface.co/docs/diffusers, 0.35"
VERSION = "0.35.0"


class _Latents:
    """The distribution of latents: (B, 4, H / 8, W / 8)."""

    def __init__(self, mean: Tensor) -> None:
        self.mean, self.std = mean, mean

    def sample(self, generator: Any = None) -> Tensor:
        """Return a draw."""
        return torch.randn_like(self.mean)

    def mode(self) -> Tensor:
        """Return its mean."""
        return self.mean


class AutoencoderKL(nn.Module):
    """Images (B, 3, H, W) to latents (B, 4, H / 8, W / 8), and back: as in Stable
    Diffusion, whose configuration is the one that is published under most names.
    """

    def __init__(
        self, in_channels: int = 3, out_channels: int = 3, latent_channels: int = 4,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.quant_conv = nn.Conv2d(in_channels, latent_channels, 8, stride=8)
        self.post_quant_conv = nn.ConvTranspose2d(
            latent_channels, out_channels, 8, stride=8
        )
        self.config = SimpleNamespace(
            in_channels=in_channels, out_channels=out_channels, **kwargs,
            latent_channels=latent_channels, scaling_factor=0.18215,
        )  # fmt: skip

    @classmethod
    def from_pretrained(cls, name: str, *args: Any, **kwargs: Any) -> AutoencoderKL:
        """Return the autoencoder of that name."""
        return cls().requires_grad_(True).eval()

    def encode(self, x: Tensor, return_dict: bool = True) -> Any:
        """Return the distribution of the latents of images."""
        if x.dim() != 4 or x.shape[1] != self.config.in_channels:
            raise RuntimeError(
                f"expected input of shape (B, {self.config.in_channels}, H, W), got"
                f" {tuple(x.shape)}"
            )
        latents = _Latents(self.quant_conv(x))
        return SimpleNamespace(latent_dist=latents) if return_dict else (latents,)

    def decode(self, z: Tensor, return_dict: bool = True, generator: Any = None) -> Any:
        """Return the images of latents."""
        sample = self.post_quant_conv(z)
        return SimpleNamespace(sample=sample) if return_dict else (sample,)

    def forward(
        self, sample: Tensor, sample_posterior: bool = False, return_dict: bool = True,
        **kwargs: Any,
    ) -> Any:  # fmt: skip
        latents = self.encode(sample).latent_dist
        z = latents.sample() if sample_posterior else latents.mode()
        return self.decode(z, return_dict)

    def enable_slicing(self) -> None:
        """Do nothing: shapes stay."""

    enable_tiling = enable_xformers_memory_efficient_attention = enable_slicing


_NAMES = {"AutoencoderKL": AutoencoderKL}
MODULES: dict[str, dict[str, Any]] = {
    "": _NAMES, "models": _NAMES, "models.autoencoder_kl": _NAMES,
    "models.autoencoders": _NAMES,
}  # fmt: skip
