import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class PointEnv:
    """Push a point towards a hidden target."""

    def __init__(self, dim=4, horizon=30):
        self.dim, self.horizon = dim, horizon

    def reset(self):
        self.pos = torch.randn(self.dim)
        self.t = 0
        return self.pos.clone()

    def step(self, action):
        self.pos = self.pos + 0.2 * torch.as_tensor(action.tolist())
        self.t += 1
        reward = -self.pos.norm().item()
        return self.pos.clone(), reward, self.t >= self.horizon


class RecurrentActor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=64):
        super().__init__()
        self.fc = nn.Linear(obs_dim + act_dim, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.out = nn.Linear(hidden, act_dim)
        self.hidden = hidden

    def init_hidden(self, n=1):
        return torch.zeros(n, self.hidden)

    def forward(self, obs, last_action, h):
        h = self.rnn(F.relu(self.fc(torch.cat([obs, last_action], dim=-1))), h)
        return torch.tanh(self.out(h)), h


class EpisodeRunner:
    def __init__(self, env, actor, noise=0.1):
        self.env, self.actor, self.noise = env, actor, noise

    def run(self):
        obs, h = self.env.reset(), self.actor.init_hidden()
        last = torch.zeros(1, self.env.dim)
        batch, total, done = [], 0.0, False
        while not done:
            actions, h = self.actor(obs.unsqueeze(0), last, h)
            actions = (actions + self.noise * torch.randn_like(actions)).clamp(-1, 1)
            next_obs, reward, done = self.env.step(actions[0])
            batch.append((obs, actions[0], reward, next_obs, float(done)))
            obs, last = next_obs, actions
            total += reward
        return batch, total


def main(episodes=60, batch_size=64, gamma=0.95):
    torch.manual_seed(0)
    random.seed(0)
    env = PointEnv()
    actor = RecurrentActor(env.dim, env.dim)
    critic = nn.Sequential(nn.Linear(2 * env.dim, 64), nn.ReLU(), nn.Linear(64, 1))
    runner = EpisodeRunner(env, actor)
    buffer = deque(maxlen=50000)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)

    for ep in range(episodes):
        transitions, ret = runner.run()
        buffer.extend(transitions)
        if len(buffer) < batch_size:
            continue
        for _ in range(10):
            obs, act, rew, nxt, done = zip(*random.sample(buffer, batch_size))
            obs, nxt = torch.stack(obs), torch.stack(nxt)
            act = torch.stack(act).detach()
            rew, done = torch.tensor(rew), torch.tensor(done)
            h0, a0 = actor.init_hidden(batch_size), torch.zeros(batch_size, env.dim)
            with torch.no_grad():
                nxt_act, _ = actor(nxt, act, h0)
                target = rew + gamma * (1 - done) * critic(torch.cat([nxt, nxt_act], 1)).squeeze(1)
            critic_loss = F.mse_loss(critic(torch.cat([obs, act], 1)).squeeze(1), target)
            critic_opt.zero_grad()
            critic_loss.backward()
            critic_opt.step()

        new_act, _ = actor(obs, a0, h0)
        actor_loss = -critic(torch.cat([obs, new_act], 1)).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        if ep % 10 == 9:
            print(f"episode {ep + 1} return {ret:.2f} critic {critic_loss.item():.3f} buffer {len(buffer)}")


if __name__ == "__main__":
    main()
