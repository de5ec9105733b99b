import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(0)
N_CLASSES, N_PIXELS = 8, 36


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(N_PIXELS + N_CLASSES, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor = nn.Linear(64, N_CLASSES)
        self.critic = nn.Linear(64, 1)

    def forward(self, state):
        h = self.body(state)
        return self.actor(h), self.critic(h).squeeze(-1)


class GuessEnv:
    """Guess the class of an image in at most `horizon` tries."""

    def __init__(self, prototypes, horizon=4):
        self.prototypes = prototypes
        self.horizon = horizon

    def reset(self):
        self.label = int(torch.randint(0, N_CLASSES, (1,)))
        self.image = self.prototypes[self.label] + 0.5 * torch.randn(N_PIXELS)
        self.tried = torch.zeros(N_CLASSES)
        self.t = 0
        return torch.cat([self.image, self.tried])

    def step(self, action):
        self.t += 1
        right = action == self.label
        self.tried[action] = 1.0
        reward = 1.0 if right else -0.1
        done = right or self.t == self.horizon
        return torch.cat([self.image, self.tried]), reward, done


def rollout(model, env):
    log_probs, values, rewards, entropies = [], [], [], []
    state, done = env.reset(), False
    while not done:
        logits, value = model(state)
        dist = Categorical(logits=logits)
        action = dist.sample()
        state, reward, done = env.step(int(action))
        log_probs.append(dist.log_prob(action))
        values.append(value.item())
        rewards.append(reward)
        entropies.append(dist.entropy())
    return log_probs, values, rewards, entropies


def compute_gae(rewards, values, gamma=0.99, lam=0.95):
    advantages, running, next_value = [], 0.0, 0.0
    for r, v in zip(reversed(rewards), reversed(values)):
        delta = r + gamma * next_value - v
        running = delta + gamma * lam * running
        advantages.insert(0, running)
        next_value = v
    return torch.tensor(advantages)


def train_gae(model, env, epochs=6, episodes=32, lr=3e-3, vf_coef=0.5, ent_coef=0.01):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    history = []
    for epoch in range(epochs):
        pi_losses, v_losses, ent, total = [], [], [], 0.0
        for _ in range(episodes):
            log_probs, values, rewards, entropies = rollout(model, env)
            adv = compute_gae(rewards, values)
            values_t = torch.tensor(values)
            returns = adv + values_t.detach()
            pi_losses.append(-(torch.stack(log_probs) * adv).sum())
            v_losses.append(F.mse_loss(values_t, returns))
            ent.append(torch.stack(entropies).mean())
            total += sum(rewards)
        pi_loss = torch.stack(pi_losses).mean()
        v_loss = torch.stack(v_losses).mean()
        loss = pi_loss + vf_coef * v_loss - ent_coef * torch.stack(ent).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(total / episodes)
        print(f'epoch {epoch} reward {history[-1]:.3f} pi {pi_loss.item():.3f} v {v_loss.item():.3f}')
    return history


if __name__ == '__main__':
    env = GuessEnv(torch.randn(N_CLASSES, N_PIXELS))
    train_gae(ActorCritic(), env)
