"""A pole on a cart, balanced by policy gradients with a baseline."""

import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, observations: int, actions: int):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observations, 64), nn.Tanh())
        self.actor = nn.Linear(64, actions)
        self.critic = nn.Linear(64, 1)

    def forward(self, x):
        hidden = self.body(x)
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


def returns_of(rewards, gamma=0.99):
    total, found = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        found.insert(0, total)
    found = torch.tensor(found)
    return (found - found.mean()) / (found.std() + 1e-6)


env = gym.make("CartPole-v1")
policy = Policy(env.observation_space.shape[0], env.action_space.n)
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for episode in range(300):
    observation, info = env.reset(seed=episode)
    states, chosen, rewards = [], [], []
    for _ in range(500):
        state = torch.as_tensor(observation, dtype=torch.float32)
        with torch.no_grad():
            action = policy(state)[0].sample()
        observation, reward, terminated, truncated, info = env.step(action.item())
        states.append(state)
        chosen.append(action)
        rewards.append(float(reward))
        if terminated or truncated:
            break
    returns = returns_of(rewards)
    spread, values = policy(torch.stack(states))
    advantages = returns - values.detach()
    gain = spread.log_prob(torch.stack(chosen)) * advantages
    loss = nn.functional.smooth_l1_loss(values, returns) - gain.mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
    optimizer.step()
    if episode % 20 == 0:
        print(f"episode {episode}: {sum(rewards):.0f}")
env.close()
torch.save(policy.state_dict(), "policy.pt")
