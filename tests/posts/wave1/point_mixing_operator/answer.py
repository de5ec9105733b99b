import torch
import torch.nn as nn


class PointMixing(nn.Module):
    """Linear map over the points of a sampled field, with its own weights for every component."""

    def __init__(self, batch, n_points, n_components, n_out=16):
        super().__init__()
        self.n_out = n_out
        scale = 1 / (n_points * n_out)
        self.weights1 = nn.Parameter(scale * torch.rand(n_points, n_out, n_components))

    def mul(self, field, weights):
        # (batch, point, component), (point, out, component) -> (batch, out, component)
        return torch.einsum('bix,iox->box', field, weights)

    def forward(self, field):
        return self.mul(field, self.weights1)


class FieldOperator(nn.Module):
    """Predicts lift, drag and friends from a velocity field on 8192 points."""

    def __init__(self, n_points=8192, n_components=2, width=16, n_targets=4, batch=12):
        super().__init__()
        self.lift = nn.Linear(n_components, n_components)
        self.mix = PointMixing(batch, n_points, n_components, n_out=width)
        self.head = nn.Sequential(
            nn.Flatten(),
            nn.LayerNorm(width * n_components),
            nn.Linear(width * n_components, 64),
            nn.GELU(),
            nn.Linear(64, n_targets),
        )

    def forward(self, field):
        # field (batch, points, components)
        h = torch.tanh(self.lift(field))
        return self.head(self.mix(h))
