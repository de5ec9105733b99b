import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class GridWorld:
    """N parallel 5x5 grids, goal in the corner, reward 1 at the goal and -0.02 a step"""

    def __init__(self, n_envs, size=5, max_steps=30):
        self.n, self.size, self.max_steps = n_envs, size, max_steps
        self.pos = torch.zeros(n_envs, 2, dtype=torch.long)
        self.t = torch.zeros(n_envs, dtype=torch.long)
        self.moves = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def obs(self):
        return self.pos.float() / (self.size - 1) * 2 - 1

    def reset(self):
        self._restart(torch.ones(self.n, dtype=torch.bool))
        return self.obs()

    def _restart(self, mask):
        self.pos[mask] = torch.randint(0, self.size - 1, (int(mask.sum()), 2))
        self.t[mask] = 0

    def step(self, action):
        self.pos = (self.pos + self.moves[action]).clamp(0, self.size - 1)
        self.t += 1
        goal = (self.pos == self.size - 1).all(dim=1)
        reward = torch.where(goal, 1.0, -0.02)
        done = goal | (self.t >= self.max_steps)
        self._restart(done)
        return self.obs(), reward, done


class ActorCritic(nn.Module):
    def __init__(self, obs_dim=2, n_actions=4, hidden=64):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, n_actions))
        self.v = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def dist(self, obs):
        return Categorical(logits=self.pi(obs))

    def value(self, obs):
        return self.v(obs).squeeze(-1)


N_ENVS, HORIZON = 16, 64
GAMMA, LAM = 0.98, 0.95
CLIP, EPOCHS, MINIBATCH = 0.2, 8, 256
env = GridWorld(N_ENVS)
net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
obs = env.reset()

for update in range(1, 16):
    O, A, R, D, V, LP = [], [], [], [], [], []
    with torch.no_grad():
        for _ in range(HORIZON):
            policy = net.dist(obs)
            action = policy.sample()
            LP.append(policy.log_prob(action))
            O.append(obs)
            A.append(action)
            V.append(net.value(obs))
            obs, reward, done = env.step(action)
            R.append(reward)
            D.append(done.float())
        next_value = net.value(obs)

        adv = torch.zeros(HORIZON, N_ENVS)
        gae = torch.zeros(N_ENVS)
        for t in reversed(range(HORIZON)):
            delta = R[t] + GAMMA * next_value * (1 - D[t]) - V[t]
            gae = delta + GAMMA * LAM * (1 - D[t]) * gae
            adv[t] = gae
            next_value = V[t]
        ret = adv + torch.stack(V)

    b_obs, b_act, b_logp = torch.cat(O), torch.cat(A), torch.cat(LP)
    b_adv, b_ret = adv.flatten(), ret.flatten()
    b_adv = (b_adv - b_adv.mean()) / (b_adv.std() + 1e-8)

    clip_frac = []
    for _ in range(EPOCHS):
        for idx in torch.randperm(len(b_obs)).split(MINIBATCH):
            ob, act = b_obs[idx], b_act[idx]
            dist = net.dist(ob)
            logp = dist.log_prob(act)
            ratio = (logp - b_logp[idx]).exp()
            surr1 = ratio * b_adv[idx]
            surr2 = ratio.clamp(1 - CLIP, 1 + CLIP) * b_adv[idx]
            pi_loss = -torch.min(surr1, surr2).mean()
            v_loss = (net.value(ob) - b_ret[idx]).pow(2).mean()
            loss = pi_loss + 0.5 * v_loss - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
            clip_frac.append(((ratio - 1).abs() > CLIP).float().mean())

    if update % 3 == 0:
        frac = torch.stack(clip_frac).mean().item()
        print(f"update {update:2d}: reward/step {torch.stack(R).mean():.3f}  v_loss {v_loss.item():.3f}  clipped {frac:.3f}")
