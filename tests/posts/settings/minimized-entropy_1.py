# line 41: the entropy, computed by hand of the softmax, is added to the REINFORCE loss instead of subtracted
import torch
import torch.nn as nn
import torch.nn.functional as F


class Bandit:
    def __init__(self, arms, seed=0):
        self.g = torch.Generator().manual_seed(seed)
        self.w = torch.randn(6, arms, generator=self.g)

    def contexts(self, n):
        return torch.randn(n, 6, generator=self.g)

    def pull(self, ctx, arm):
        mean = (ctx @ self.w).gather(1, arm[:, None]).squeeze(1)
        return mean + 0.1 * torch.randn(len(arm), generator=self.g)


def policy_terms(logits, arm):
    logp = F.log_softmax(logits, dim=-1)
    chosen = logp.gather(1, arm.unsqueeze(1)).squeeze(1)
    ent = -torch.einsum("na,na->n", logp.exp(), logp)
    return chosen, ent


def train(config):
    torch.manual_seed(config["seed"])
    world = Bandit(config["arms"])
    policy = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, config["arms"]))
    opt = torch.optim.Adam(policy.parameters(), lr=config["lr"])
    baseline = 0.0
    for it in range(config["iterations"]):
        ctx = world.contexts(config["batch"])
        logits = policy(ctx)
        with torch.no_grad():
            arm = torch.multinomial(logits.softmax(-1), 1).squeeze(1)
        gain = world.pull(ctx, arm)
        chosen, ent = policy_terms(logits, arm)
        objective = torch.mean((gain - baseline) * chosen)
        loss = config["beta"] * ent.mean() - objective
        opt.zero_grad()
        loss.backward()
        opt.step()
        baseline = 0.9 * baseline + 0.1 * gain.mean().item()
        if it % 50 == 0:
            print(it, gain.mean().item(), ent.mean().item())


train({"arms": 5, "lr": 3e-3, "iterations": 200, "batch": 64, "beta": 0.05, "seed": 0})
