import torch
import torch.nn as nn


class Model(nn.Module):
    """Masked prediction of accelerometer windows, pre-training step."""

    def __init__(self, n_in=3, patch=10, d_model=24, n_layers=2):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(n_in * patch, d_model)
        self.mask_token = nn.Parameter(torch.zeros(d_model))
        layer = nn.TransformerEncoderLayer(
            d_model, 4, 48, dropout=0.0, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, n_layers)
        self.decode = nn.Linear(d_model, n_in * patch)

    def forward(self, signal, hidden):
        B, L, C = signal.shape
        patches = signal.reshape(B, L // self.patch, self.patch * C)
        x = self.embed(patches)
        x = torch.where(hidden, self.mask_token, x)
        y = self.decode(self.encoder(x))
        error = (y - patches).square().mean(dim=-1)
        return (error * hidden).sum() / hidden.sum()


def example_inputs():
    hidden = torch.rand(4, 15) < 0.4
    return torch.randn(4, 150, 3), hidden
