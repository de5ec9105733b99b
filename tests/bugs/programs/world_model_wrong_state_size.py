import torch
import torch.nn as nn
import torch.nn.functional as F


class Core(nn.Module):
    def __init__(self, deter, stoch, n_actions):
        super().__init__()
        self.inp = nn.Linear(stoch + n_actions, deter)
        self.cell = nn.GRUCell(deter, deter)
        self.prior = nn.Linear(deter, 2 * stoch)

    def forward(self, h, z, action):
        x = F.elu(self.inp(torch.cat([z, action], -1)))
        h = self.cell(x, h)
        mean, std = self.prior(h).chunk(2, dim=-1)
        return h, mean + F.softplus(std) * torch.randn_like(mean)


class WorldModel(nn.Module):
    def __init__(self, deter, stoch, n_actions, n_obs):
        super().__init__()
        self.deter, self.stoch, self.n_actions = deter, stoch, n_actions
        self.core = Core(stoch, stoch, n_actions)
        self.obs = nn.Linear(deter + stoch, n_obs)
        self.reward = nn.Linear(deter + stoch, 1)

    def imagine(self, actions):
        B, T = actions.shape
        h = torch.zeros(B, self.deter, device=actions.device)
        z = torch.zeros(B, self.stoch, device=actions.device)
        one_hot = F.one_hot(actions, self.n_actions).float()
        feats = []
        for t in range(T):
            h, z = self.core(h, z, one_hot[:, t])
            feats.append(torch.cat([h, z], -1))
        feats = torch.stack(feats, 1)
        return self.obs(feats), self.reward(feats).squeeze(-1)


class Model(nn.Module):
    def __init__(self, deter=32, stoch=10, n_actions=4, n_obs=7):
        super().__init__()
        self.wm = WorldModel(deter, stoch, n_actions, n_obs)

    def forward(self, actions):
        return self.wm.imagine(actions)


def example_inputs():
    return (torch.randint(0, 4, (5, 12)),)
