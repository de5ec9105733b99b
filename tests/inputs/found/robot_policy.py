from __future__ import annotations

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, channels: int, features: int) -> None:
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(channels, 8, 8, stride=4),
            nn.ReLU(),
            nn.Conv2d(8, 16, 4, stride=2),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.linear = nn.Linear(16 * 6 * 6, features)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.linear(self.cnn(image / 255.0 - 0.5)).tanh()


class ActorCritic(nn.Module):
    """A policy over camera images, joint angles and a goal."""

    def __init__(
        self, num_joints: int = 7, goal_dim: int = 3, actions: int = 8
    ) -> None:
        super().__init__()
        self.encoder = Encoder(3, 24)
        self.trunk = nn.Sequential(nn.Linear(24 + num_joints + goal_dim, 32), nn.Tanh())
        self.actor_mean = nn.Linear(32, actions)
        self.actor_logstd = nn.Parameter(torch.zeros(actions))
        self.critic = nn.Linear(32, 1)

    def forward(
        self, obs: dict[str, torch.Tensor], deterministic: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Actions, their log probability and the value.

        obs["image"]: (B, 3, 64, 64), obs["joints"]: (B, 7), obs["goal"]: (B, 3)
        """
        image = self.encoder(obs["image"])
        hidden = self.trunk(torch.cat([image, obs["joints"], obs["goal"]], dim=-1))
        mean = self.actor_mean(hidden)
        std = self.actor_logstd.exp().expand_as(mean)
        action = mean if deterministic else mean + std * torch.randn_like(mean)
        log_prob = -0.5 * ((action - mean) / std).pow(2) - std.log()
        return action, log_prob.sum(-1), self.critic(hidden).squeeze(-1)
