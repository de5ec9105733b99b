import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Linear(6, 3)
        self.v = nn.Linear(6, 1)

    def forward(self, obs, act, old, rew):
        d = torch.distributions.Categorical(logits=self.p(obs))
        v = self.v(obs).squeeze(-1)
        adv = rew - v.detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        ratio = (d.log_prob(act) - old).exp()
        logits = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        return logits + F.mse_loss(v, rew) - d.entropy().mean()


def example_inputs():
    return (
        torch.randn(13, 6),
        torch.randint(0, 3, (13,)),
        torch.randn(13),
        torch.randn(13),
    )
