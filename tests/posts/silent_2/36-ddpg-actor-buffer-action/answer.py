import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

GAMMA, TAU, BATCH = 0.95, 0.01, 64


class PointEnv:
    """Push a point towards the origin of a line."""

    def reset(self):
        self.pos, self.steps = random.uniform(-1, 1), 0
        return torch.tensor([self.pos])

    def step(self, action):
        self.pos = max(-2.0, min(2.0, self.pos + 0.2 * action))
        self.steps += 1
        return torch.tensor([self.pos]), -abs(self.pos), self.steps >= 25


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], dim=1))


def soft_update(target, source):
    for tp, p in zip(target.parameters(), source.parameters()):
        tp.data.mul_(1 - TAU).add_(TAU * p.data)


def main():
    random.seed(0)
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    env, memory = PointEnv(), deque(maxlen=5000)
    actor, critic = Actor().to(device), Critic().to(device)
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)

    for episode in range(20):
        state, done, score = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                a = actor(state.to(device).unsqueeze(0)).item()
            a = max(-1.0, min(1.0, a + random.gauss(0, 0.2)))
            nxt, reward, done = env.step(a)
            memory.append((state, a, reward, nxt, float(done)))
            state, score = nxt, score + reward
            if len(memory) < BATCH:
                continue
            s, act, r, s2, d = zip(*random.sample(memory, BATCH))
            s, s2 = torch.stack(s).to(device), torch.stack(s2).to(device)
            act, r, d = (torch.tensor(v, device=device).unsqueeze(1) for v in (act, r, d))

            with torch.no_grad():
                y = r + GAMMA * (1 - d) * critic_target(s2, actor_target(s2))
            critic_loss = F.mse_loss(critic(s, act), y)
            critic_opt.zero_grad()
            critic_loss.backward()
            critic_opt.step()

            actor_loss = -critic(s, actor(s)).mean()
            actor_opt.zero_grad()
            actor_loss.backward()
            actor_opt.step()
            soft_update(actor_target, actor)
            soft_update(critic_target, critic)
        if episode % 5 == 4:
            print(f"episode {episode + 1} score {score:.2f} critic loss {critic_loss.item():.4f}")


if __name__ == "__main__":
    main()
