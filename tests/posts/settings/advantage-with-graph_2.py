# line 55: the generalised advantages are computed from values with a graph and weight the clipped ratio without detach
import numpy as np
import torch
import torch.nn.functional as F

np.random.seed(1)
torch.manual_seed(1)
GAMMA, LAM, CLIP, T = 0.97, 0.9, 0.2, 64


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 32)
        self.pi, self.vf = torch.nn.Linear(32, 3), torch.nn.Linear(32, 1)

    def forward(self, s):
        h = torch.tanh(self.body(s))
        return self.pi(h), self.vf(h)[..., 0]


def rollout(policy):
    states, actions, rewards, logps = [], [], [], []
    s = np.random.randn(4).astype(np.float32)
    for _ in range(T):
        with torch.no_grad():
            logits, _ = policy(torch.from_numpy(s))
        dist = torch.distributions.Categorical(logits=logits)
        a = dist.sample()
        states.append(s)
        actions.append(a)
        logps.append(dist.log_prob(a))
        rewards.append(float(s[int(a)]))
        s = (0.5 * s + np.random.randn(4)).astype(np.float32)
    return torch.from_numpy(np.array(states)), torch.stack(actions), torch.stack(logps), rewards


def gae(rewards, values):
    out, running = [], torch.zeros(())
    for t in reversed(range(len(rewards))):
        following = values[t + 1].detach() if t + 1 < len(rewards) else torch.zeros(())
        running = rewards[t] + GAMMA * following - values[t] + GAMMA * LAM * running
        out.insert(0, running)
    return torch.stack(out)


policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
for episode in range(12):
    s, a, old, r = rollout(policy)
    for _ in range(2):
        logits, v = policy(s)
        adv = gae(r, v)
        ratio = (F.log_softmax(logits, -1).gather(1, a[:, None])[:, 0] - old).exp()
        surrogate = torch.min(ratio * adv, ratio.clamp(1 - CLIP, 1 + CLIP) * adv)
        loss = -surrogate.mean() + 0.5 * F.mse_loss(v, (adv + v).detach())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(episode, sum(r) / T)
