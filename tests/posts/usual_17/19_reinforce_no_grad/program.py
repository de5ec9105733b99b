import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(0)
np.random.seed(0)


class CorridorEnv:
    """Walk right to the goal; every step costs a bit."""

    def __init__(self, length=6, max_steps=30):
        self.length = length
        self.max_steps = max_steps

    def reset(self):
        self.pos, self.t = 0, 0
        return self._obs()

    def _obs(self):
        o = np.zeros(self.length, dtype=np.float32)
        o[self.pos] = 1
        return o

    def step(self, action):
        self.t += 1
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        done = self.pos == self.length - 1 or self.t >= self.max_steps
        reward = 1.0 if self.pos == self.length - 1 else -0.05
        self.pos = min(self.pos, self.length - 1)
        return self._obs(), reward, done


class Policy(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, n_act))

    def forward(self, x):
        return Categorical(logits=self.net(x))


class Agent:
    def __init__(self, env, gamma=0.98, lr=1e-2):
        self.env = env
        self.policy = Policy(env.length, 2)
        self.opt = optim.Adam(self.policy.parameters(), lr=lr)
        self.gamma = gamma

    def act(self, obs):
        with torch.no_grad():
            dist = self.policy(torch.from_numpy(obs))
            action = dist.sample()
            log_prob = dist.log_prob(action)
        return action.item(), log_prob

    def rollout(self):
        obs, done = self.env.reset(), False
        log_probs, rewards = [], []
        while not done:
            action, lp = self.act(obs)
            obs, r, done = self.env.step(action)
            log_probs.append(lp)
            rewards.append(r)
        return log_probs, rewards

    def returns(self, rewards):
        out, g = [], 0.0
        for r in reversed(rewards):
            g = r + self.gamma * g
            out.insert(0, g)
        out = torch.tensor(out)
        return (out - out.mean()) / (out.std() + 1e-8)

    def update(self, log_probs, rewards):
        ret = self.returns(rewards)
        loss = -(torch.stack(log_probs) * ret).sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


env = CorridorEnv()
agent = Agent(env)
scores = []
for episode in range(100):
    log_probs, rewards = agent.rollout()
    loss = agent.update(log_probs, rewards)
    scores.append(sum(rewards))
    if (episode + 1) % 25 == 0:
        print('Episode %d avg score %.3f' % (episode + 1, np.mean(scores[-25:])))
