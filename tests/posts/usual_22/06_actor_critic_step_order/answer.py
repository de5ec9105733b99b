import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Actor(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(state_dim, 64), nn.ReLU(),
            nn.Linear(64, action_dim), nn.Tanh(),
        )

    def forward(self, state):
        return self.net(state)


class Critic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(state_dim + action_dim, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, state, action):
        return self.net(torch.cat([state, action], dim=1))


class Agent:
    def __init__(self, state_dim=8, action_dim=2, gamma=0.98):
        self.actor = Actor(state_dim, action_dim)
        self.critic = Critic(state_dim, action_dim)
        self.actor_optim = optim.Adam(self.actor.parameters(), lr=1e-4)
        self.critic_optim = optim.Adam(self.critic.parameters(), lr=1e-3)
        self.gamma = gamma

    def update(self, state, action, reward, next_state, done):
        with torch.no_grad():
            next_q = self.critic(next_state, self.actor(next_state))
            target = reward + self.gamma * (1 - done) * next_q

        q = self.critic(state, action)
        critic_loss = F.mse_loss(q, target)

        self.critic_optim.zero_grad()
        critic_loss.backward()
        self.critic_optim.step()

        actor_loss = -self.critic(state, self.actor(state)).mean()
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()
        return critic_loss.item(), actor_loss.item()


def sample_batch(n=64):
    return (torch.randn(n, 8), torch.rand(n, 2) * 2 - 1, torch.randn(n, 1),
            torch.randn(n, 8), (torch.rand(n, 1) < 0.05).float())


if __name__ == "__main__":
    torch.manual_seed(0)
    agent = Agent()
    for step in range(100):
        c, a = agent.update(*sample_batch())
        if step % 20 == 0:
            print(f"step {step}: critic {c:.3f} actor {a:.3f}")
