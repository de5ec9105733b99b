"""A recurrent state-space model, after Dreamer."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RSSM(nn.Module):
    def __init__(
        self, actions: int = 4, embed: int = 32, deter: int = 16, stoch: int = 8
    ):
        super().__init__()
        self.deter, self.stoch = deter, stoch
        self.pre = nn.Linear(stoch + actions, deter)
        self.cell = nn.GRUCell(deter, deter)
        self.prior = nn.Linear(deter, 2 * stoch)
        self.posterior = nn.Linear(deter + embed, 2 * stoch)

    def initial(self, batch: int) -> tuple[Tensor, Tensor]:
        return torch.zeros(batch, self.deter), torch.zeros(batch, self.stoch)

    def step(
        self, state: tuple[Tensor, Tensor], action: Tensor, embed: Tensor
    ) -> tuple[tuple[Tensor, Tensor], Tensor]:
        deter, stoch = state
        x = F.elu(self.pre(torch.cat([stoch, action], dim=-1)))
        deter = self.cell(x, deter)
        prior = self.prior(deter)
        posterior = self.posterior(torch.cat([deter, embed], dim=-1))
        mean, std = posterior.chunk(2, dim=-1)
        stoch = mean + F.softplus(std) * torch.randn_like(mean)
        return (deter, stoch), (posterior - prior).pow(2).sum(-1)


class WorldModel(nn.Module):
    """Reads episodes of images and actions; returns images, rewards and a divergence.

    observations: (batch, time, 3, 32, 32)
    actions: (batch, time, 4)
    """

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 4, 4, stride=2, padding=1),
            nn.ELU(),
            nn.Conv2d(4, 8, 4, stride=4),
            nn.ELU(),
            nn.Flatten(),
            nn.Linear(8 * 4 * 4, 32),
        )
        self.rssm = RSSM()
        self.decoder = nn.Sequential(
            nn.Linear(24, 8 * 4 * 4),
            nn.Unflatten(1, (8, 4, 4)),
            nn.ConvTranspose2d(8, 4, 4, stride=4),
            nn.ELU(),
            nn.ConvTranspose2d(4, 3, 4, stride=2, padding=1),
        )
        self.reward = nn.Linear(24, 1)

    def forward(
        self,
        observations: Tensor,
        actions: Tensor,
        state: tuple[Tensor, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        batch, time = observations.shape[:2]
        embed = self.encoder(observations.flatten(0, 1)).unflatten(0, (batch, time))
        state = state or self.rssm.initial(batch)
        features, divergence = [], []
        for t in range(time):
            state, distance = self.rssm.step(state, actions[:, t], embed[:, t])
            features.append(torch.cat(state, dim=-1))
            divergence.append(distance)
        feature = torch.stack(features, dim=1)
        image = self.decoder(feature.flatten(0, 1)).unflatten(0, (batch, time))
        return {
            "image": image,
            "reward": self.reward(feature).squeeze(-1),
            "kl": torch.stack(divergence, dim=1),
        }
