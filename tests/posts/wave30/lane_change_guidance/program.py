import math

import torch
import torch.nn as nn

N_AGENTS, HORIZON, DT = 6, 20, 0.1


class ActionSampler(nn.Module):
    def __init__(self, hist=10, hidden=48):
        super().__init__()
        self.enc = nn.GRU(4, hidden, batch_first=True)
        self.head = nn.Linear(hidden, HORIZON * 2)

    def forward(self, history):
        _, h = self.enc(history)
        acts = self.head(h[-1]).view(-1, HORIZON, 2)
        return torch.tanh(acts) * torch.tensor([2.0, 0.6])


def unroll(actions, speed0):
    """Unicycle model in the frame of each agent."""
    acc, yaw_rate = actions.unbind(-1)
    speed = speed0[:, None] + torch.cumsum(acc, dim=1) * DT
    yaw = torch.cumsum(yaw_rate, dim=1) * DT
    vel = torch.stack([speed * torch.cos(yaw), speed * torch.sin(yaw)], dim=-1)
    pos = torch.cumsum(vel, dim=1) * DT
    return pos, yaw


def agent_to_world(pos_pred, yaw_pred, centre, heading):
    rot = torch.stack([
        torch.stack([torch.cos(heading), -torch.sin(heading)], -1),
        torch.stack([torch.sin(heading), torch.cos(heading)], -1),
    ], dim=-2)
    pos_world = torch.einsum("nij,ntj->nti", rot, pos_pred) + centre[:, None, :]
    yaw_pred += heading[:, None]
    yaw_world = torch.remainder(yaw_pred + math.pi, 2 * math.pi) - math.pi
    return pos_world, yaw_world


class ChangeLaneLoss(nn.Module):
    def __init__(self, lane_offset=3.5, start=8):
        super().__init__()
        self.lane_offset = lane_offset
        self.start = start

    def forward(self, pos, yaw, centre, heading):
        pos, yaw = agent_to_world(pos, yaw, centre, heading)
        left = torch.stack([-torch.sin(heading), torch.cos(heading)], -1)
        lateral = ((pos - centre[:, None, :]) * left[:, None, :]).sum(-1)
        off_lane = (lateral[:, self.start:] - self.lane_offset).abs().mean(-1)
        misaligned = (1 - torch.cos(yaw[:, -1] - heading))
        return off_lane + 0.5 * misaligned


def guide(actions, speed0, centre, heading, steps=15, lr=0.4):
    guidance = ChangeLaneLoss()
    actions = actions.detach().clone().requires_grad_(True)
    opt = torch.optim.Adam([actions], lr=lr)
    for k in range(steps):
        opt.zero_grad()
        pos, yaw = unroll(actions, speed0)
        loss = guidance(pos, yaw, centre, heading).mean()
        loss.backward()
        opt.step()
        if k % 5 == 0:
            print(f"guidance step {k}: {loss.item():.4f}")
    return actions.detach()


if __name__ == "__main__":
    torch.manual_seed(11)
    sampler = ActionSampler()
    history = torch.randn(N_AGENTS, 10, 4)
    speed0 = 6 + 4 * torch.rand(N_AGENTS)
    centre = 30 * torch.randn(N_AGENTS, 2)
    heading = (torch.rand(N_AGENTS) * 2 - 1) * math.pi
    with torch.no_grad():
        first = sampler(history)
    guided = guide(first, speed0, centre, heading)
    pos, _ = unroll(guided, speed0)
    print("mean lateral shift", pos[:, -1, 1].mean().item())
