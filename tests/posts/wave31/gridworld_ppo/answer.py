import argparse
from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

Rollout = namedtuple("Rollout", ["states", "actions", "returns", "logps", "values"])


class LavaGrid:
    """4x6 grid, goal in the far corner, two cells of lava."""

    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    lava = {(1, 3), (2, 2)}
    goal = (3, 5)

    def __init__(self, horizon=40):
        self.horizon = horizon

    def reset(self):
        self.pos, self.t = (0, 0), 0
        return self.board()

    def board(self):
        b = np.zeros((3, 4, 6), dtype=np.float32)
        b[0][self.pos] = 1
        b[1][self.goal] = 1
        for cell in self.lava:
            b[2][cell] = 1
        return b

    def step(self, action):
        dr, dc = self.moves[action]
        self.pos = (min(max(self.pos[0] + dr, 0), 3), min(max(self.pos[1] + dc, 0), 5))
        self.t += 1
        if self.pos in self.lava:
            return self.board(), -5.0, True
        if self.pos == self.goal:
            return self.board(), 5.0, True
        return self.board(), -0.1, self.t >= self.horizon


class PPOAgent(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.discount = args.discount
        self.clipping = args.clipping
        self.epochs = args.epochs
        self.critic_coeff = args.critic_coeff
        self.entropy_bonus = args.entropy_bonus
        self.trunk = nn.Sequential(nn.Flatten(), nn.Linear(3 * 4 * 6, 64), nn.Tanh())
        self.actor = nn.Linear(64, 4)
        self.critic = nn.Linear(64, 1)
        self.optim = torch.optim.Adam(self.parameters(), lr=args.lr)

    def forward(self, x):
        h = self.trunk(x)
        return self.actor(h), self.critic(h).squeeze(1)

    def gather_rollout(self, env, episodes):
        states, actions, returns, logps, values, totals = [], [], [], [], [], []
        for _ in range(episodes):
            state, done, rewards = env.reset(), False, []
            while not done:
                with torch.no_grad():
                    logits, value = self(torch.from_numpy(state)[None])
                dist = Categorical(logits=logits)
                action = dist.sample()
                states.append(torch.from_numpy(state))
                actions.append(action)
                logps.append(dist.log_prob(action))
                values.append(value)
                state, reward, done = env.step(action.item())
                rewards.append(reward)
            running, discounted = 0.0, []
            for r in reversed(rewards):
                running = r + self.discount * running
                discounted.insert(0, running)
            returns += discounted
            totals.append(sum(rewards))
        rollout = Rollout(torch.stack(states), torch.cat(actions), torch.tensor(returns), torch.cat(logps), torch.cat(values))
        return rollout, float(np.mean(totals))

    def learn(self, rollout):
        advantages = rollout.returns - rollout.values
        for _ in range(self.epochs):
            logits, values = self(rollout.states)
            dist = Categorical(logits=logits)
            ratio = torch.exp(dist.log_prob(rollout.actions) - rollout.logps)
            clipped = torch.clamp(ratio, 1 - self.clipping, 1 + self.clipping)
            policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
            value_loss = F.mse_loss(values, rollout.returns)
            loss = policy_loss + self.critic_coeff * value_loss - self.entropy_bonus * dist.entropy().mean()
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()
        return policy_loss.item(), value_loss.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--discount", type=float, default=0.97)
    parser.add_argument("--clipping", type=float, default=0.2)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--critic-coeff", type=float, default=0.5)
    parser.add_argument("--entropy-bonus", type=float, default=0.01)
    args = parser.parse_args()

    torch.manual_seed(0)
    env, agent = LavaGrid(), PPOAgent(args)
    for update in range(12):
        rollout, mean_return = agent.gather_rollout(env, episodes=12)
        policy_loss, value_loss = agent.learn(rollout)
        print(f"update {update:2d} return {mean_return:6.2f} policy {policy_loss:+.4f} value {value_loss:.3f}")
