import numpy as np
import torch
import torch.nn as nn


class PointReacher:
    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos = self.rng.uniform(-1, 1, 2)
        self.t = 0
        return self._obs()

    def _obs(self):
        return np.concatenate([self.pos, [self.t / 20]]).astype(np.float32)

    def step(self, action):
        self.pos = np.clip(self.pos + 0.2 * action, -2, 2)
        self.t += 1
        return self._obs(), -float(np.square(self.pos).sum()), self.t >= 20


def mlp(sizes, out_activation=None):
    layers = []
    for i in range(len(sizes) - 2):
        layers += [nn.Linear(sizes[i], sizes[i + 1]), nn.ReLU(inplace=True)]
    layers.append(nn.Linear(sizes[-2], sizes[-1]))
    return nn.Sequential(*layers)


class Actor(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.net = mlp([state_dim, 64, 64, 2 * action_dim])

    def forward(self, states):
        return torch.tanh(self.net(states).chunk(2, dim=-1)[0])

    def sample(self, states):
        means, log_stds = self.net(states).chunk(2, dim=-1)
        log_stds = log_stds.clamp_(-20, 2)
        noise = torch.randn_like(means)
        raw = means + noise * log_stds.exp()
        actions = torch.tanh(raw)
        log_pi = (-0.5 * noise.pow(2) - log_stds - 0.5 * np.log(2 * np.pi)).sum(-1, keepdim=True)
        log_pi = log_pi - torch.log(1 - actions.pow(2) + 1e-6).sum(-1, keepdim=True)
        return actions, log_pi


class Critic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.q1 = mlp([state_dim + action_dim, 64, 64, 1])
        self.q2 = mlp([state_dim + action_dim, 64, 64, 1])

    def forward(self, states, actions):
        x = torch.cat([states, actions], dim=-1)
        return self.q1(x), self.q2(x)


def main(steps=300, batch_size=64, gamma=0.99, alpha=0.1):
    torch.manual_seed(0)
    env = PointReacher()
    actor, critic, target = Actor(3, 2), Critic(3, 2), Critic(3, 2)
    target.load_state_dict(critic.state_dict())
    opt_actor = torch.optim.Adam(actor.parameters(), lr=3e-4)
    opt_critic = torch.optim.Adam(critic.parameters(), lr=3e-4)
    buffer = []
    state = env.reset()
    for step in range(steps):
        if step < 100:
            action = np.random.uniform(-1, 1, 2).astype(np.float32)
        else:
            with torch.no_grad():
                action = actor.sample(torch.from_numpy(state)[None])[0][0].numpy()
        nxt, reward, done = env.step(action)
        buffer.append((state, action, [reward], [float(done)], nxt))
        state = env.reset() if done else nxt
        if step < 100:
            continue
        idx = np.random.randint(0, len(buffer), batch_size)
        s, a, r, d, n = (torch.tensor(np.array(x), dtype=torch.float32) for x in zip(*[buffer[i] for i in idx]))
        with torch.no_grad():
            next_a, next_log_pi = actor.sample(n)
            tq = torch.min(*target(n, next_a)) - alpha * next_log_pi
            y = r + gamma * (1 - d) * tq
        q1, q2 = critic(s, a)
        loss_q = (q1 - y).pow(2).mean() + (q2 - y).pow(2).mean()
        opt_critic.zero_grad()
        loss_q.backward()
        opt_critic.step()
        new_a, log_pi = actor.sample(s)
        loss_pi = (alpha * log_pi - torch.min(*critic(s, new_a))).mean()
        opt_actor.zero_grad()
        loss_pi.backward()
        opt_actor.step()
        for tp, p in zip(target.parameters(), critic.parameters()):
            tp.data.lerp_(p.data, 0.005)
    print('critic loss', round(loss_q.item(), 4), 'policy loss', round(loss_pi.item(), 4))


if __name__ == '__main__':
    main()
