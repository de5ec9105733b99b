import random
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F


class GridWorld:
    """walk to the goal that was shown in the first observation"""

    def __init__(self, size=7, horizon=20):
        self.size, self.horizon = size, horizon

    def reset(self):
        self.pos, self.goal, self.t = self.size // 2, random.choice([0, self.size - 1]), 0
        return self.observe()

    def observe(self):
        obs = torch.zeros(self.size + 2)
        obs[self.pos] = 1.0
        if self.t == 0:
            obs[self.size + (self.goal > 0)] = 1.0
        return obs

    def step(self, action):
        self.t += 1
        self.pos = max(0, min(self.size - 1, self.pos + (1 if action == 1 else -1)))
        done = self.pos in (0, self.size - 1) or self.t >= self.horizon
        return self.observe(), float(self.pos == self.goal), done


class RecurrentPolicy(nn.Module):
    def __init__(self, obs_dim, hidden=64, actions=2):
        super().__init__()
        self.encode = nn.Linear(obs_dim, hidden)
        self.cell = nn.LSTMCell(hidden, hidden)
        self.actor, self.critic = nn.Linear(hidden, actions), nn.Linear(hidden, 1)
        self.hidden = hidden

    def initial_state(self, n):
        return torch.zeros(n, self.hidden), torch.zeros(n, self.hidden)

    def forward(self, obs, state):
        state = self.cell(F.relu(self.encode(obs)), state)
        return self.actor(state[0]), self.critic(state[0]).squeeze(-1), state


class Experience:
    def __init__(self, capacity=1000):
        self.memory = deque(maxlen=capacity)

    def store(self, obs, action, reward, done, value, state):
        self.memory.append({'obs': obs, 'action': action, 'reward': reward, 'done': done,
                            'value': value.item(), 'lstm_h': state[0], 'lstm_c': state[1]})

    def sample(self, n):
        batch = random.sample(self.memory, n)
        state = (torch.cat([m['lstm_h'] for m in batch]).detach(), torch.cat([m['lstm_c'] for m in batch]).detach())
        return (torch.stack([m['obs'] for m in batch]), torch.tensor([m['action'] for m in batch]),
                torch.tensor([m['reward'] - m['value'] for m in batch]), torch.tensor([m['reward'] for m in batch]), state)


random.seed(0)
torch.manual_seed(0)
env, experience = GridWorld(), Experience()
policy = RecurrentPolicy(env.size + 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
obs, state = env.reset(), policy.initial_state(1)
for update in range(10):
    for _ in range(64):
        previous = state
        logits, value, state = policy(obs.unsqueeze(0), previous)
        action = torch.distributions.Categorical(logits=logits).sample().item()
        next_obs, reward, done = env.step(action)
        state = tuple(s.detach() for s in state)
        experience.store(obs, action, reward, done, value, previous)
        obs = env.reset() if done else next_obs
    b_obs, b_action, b_advantage, b_return, b_state = experience.sample(48)
    logits, value, _ = policy(b_obs, b_state)
    log_prob = F.log_softmax(logits, dim=-1).gather(1, b_action.unsqueeze(1)).squeeze(1)
    loss = -(log_prob * b_advantage).mean() + 0.5 * F.mse_loss(value, b_return)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f'update {update} loss {loss.item():.4f} stored {len(experience.memory)}')
