import torch
import torch.nn as nn
from torch.distributions import Categorical


class VecTargetEnv:
    """Each env shows a 2-d target; the agent picks one of 4 quadrants."""

    def __init__(self, n_envs):
        self.n = n_envs

    def reset(self):
        self.obs = torch.randn(self.n, 2)
        return self.obs

    def step(self, action):
        quadrant = (self.obs[:, 0] > 0).long() * 2 + (self.obs[:, 1] > 0).long()
        reward = (action == quadrant).float()
        self.obs = torch.randn(self.n, 2)
        done = torch.rand(self.n) < 0.1
        return self.obs, reward, done.float()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 4))
        self.critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def evaluate(self, obs, action=None):
        dist = Categorical(logits=self.actor(obs))
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), self.critic(obs).squeeze(-1)


N_ENVS, T, GAMMA, LAM, CLIP, ENT_COEF, VF_COEF = 8, 32, 0.99, 0.95, 0.2, 0.01, 0.5
torch.manual_seed(0)
env, agent = VecTargetEnv(N_ENVS), ActorCritic()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
obs = env.reset()

for update in range(8):
    buf = {k: [] for k in ("obs", "act", "logp", "rew", "done", "val")}
    with torch.no_grad():
        for _ in range(T):
            action, logp, _, value = agent.evaluate(obs)
            next_obs, reward, done = env.step(action)
            for k, v in zip(buf, (obs, action, logp, reward, done, value)):
                buf[k].append(v)
            obs = next_obs
        next_value = agent.evaluate(obs)[3]
    buf = {k: torch.stack(v) for k, v in buf.items()}
    adv, gae = torch.zeros(T, N_ENVS), torch.zeros(N_ENVS)
    for t in reversed(range(T)):
        nv = next_value if t == T - 1 else buf["val"][t + 1]
        delta = buf["rew"][t] + GAMMA * nv * (1 - buf["done"][t]) - buf["val"][t]
        gae = delta + GAMMA * LAM * (1 - buf["done"][t]) * gae
        adv[t] = gae
    ret = (adv + buf["val"]).flatten()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    flat = {k: buf[k].flatten(0, 1) for k in ("obs", "act", "logp")}
    adv = adv.flatten()

    for _ in range(4):
        for idx in torch.randperm(T * N_ENVS).split(64):
            _, logp, entropy, value = agent.evaluate(flat["obs"][idx], flat["act"][idx])
            ratio = (logp - flat["logp"][idx]).exp()
            surr = torch.min(ratio * adv[idx], ratio.clamp(1 - CLIP, 1 + CLIP) * adv[idx])
            policy_loss = -surr.mean()
            value_loss = (value - ret[idx]).pow(2).mean()
            loss = policy_loss + VF_COEF * value_loss + ENT_COEF * entropy.mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    print(f"update {update} mean reward {buf['rew'].mean():.3f} entropy {entropy.mean():.3f}")
