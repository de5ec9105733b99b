import numpy as np
import torch
import torch.nn as nn


class PointMass:
    """push a mass on a line to the origin"""

    state_dim, action_dim = 2, 1

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s = self.rng.uniform(-1, 1, 2)
        self.t = 0
        return self.s.copy()

    def step(self, action):
        pos, vel = self.s
        vel = np.clip(vel + 0.1 * float(action[0]), -1, 1)
        pos = np.clip(pos + 0.1 * vel, -2, 2)
        self.s = np.array([pos, vel])
        self.t += 1
        reward = -(pos ** 2 + 0.1 * vel ** 2)
        return self.s.copy(), reward, self.t >= 50


class ReplayBuffer:
    def __init__(self, max_len, state_dim, action_dim):
        self.max_len, self.now, self.full = max_len, 0, False
        self.state = np.empty((max_len, state_dim), dtype=np.float32)
        self.next_state = np.empty((max_len, state_dim), dtype=np.float32)
        self.action = np.empty((max_len, action_dim), dtype=np.float32)
        self.other = np.empty((max_len, 2))

    def append(self, s, a, r, mask, s2):
        i = self.now
        self.state[i], self.action[i], self.next_state[i] = s, a, s2
        self.other[i] = r, mask
        self.now = (i + 1) % self.max_len
        self.full = self.full or self.now == 0

    def sample(self, batch_size):
        n = self.max_len if self.full else self.now
        i = np.random.randint(n, size=batch_size)
        other = torch.from_numpy(self.other[i])
        return (other[:, 0:1], other[:, 1:2], torch.from_numpy(self.state[i]),
                torch.from_numpy(self.action[i]), torch.from_numpy(self.next_state[i]))


def mlp(n_in, n_out, mid=64):
    return nn.Sequential(nn.Linear(n_in, mid), nn.ReLU(), nn.Linear(mid, mid), nn.ReLU(), nn.Linear(mid, n_out))


class AgentTD3:
    def __init__(self, state_dim, action_dim, gamma=0.97, tau=0.01):
        self.gamma, self.tau = gamma, tau
        self.act, self.act_target = mlp(state_dim, action_dim), mlp(state_dim, action_dim)
        nets = [mlp(state_dim + action_dim, 1) for _ in range(4)]
        self.q1, self.q2, self.q1_target, self.q2_target = nets
        self.pairs = [(self.act_target, self.act), (self.q1_target, self.q1), (self.q2_target, self.q2)]
        for target, net in self.pairs:
            target.load_state_dict(net.state_dict())
        self.act_opt = torch.optim.Adam(self.act.parameters(), lr=1e-3)
        self.cri_opt = torch.optim.Adam([*self.q1.parameters(), *self.q2.parameters()], lr=1e-3)
        self.criterion = nn.HuberLoss()

    def select_action(self, state):
        with torch.no_grad():
            a = self.act(torch.as_tensor(state, dtype=torch.float32)).tanh().numpy()
        return np.clip(a + np.random.normal(0, 0.3, a.shape), -1, 1)

    def update(self, buffer, batch_size=64):
        reward, mask, state, action, next_s = buffer.sample(batch_size)
        with torch.no_grad():
            next_a = (self.act_target(next_s).tanh() + 0.1 * torch.randn_like(action)).clamp(-1, 1)
            sa = torch.cat((next_s, next_a), dim=1)
            q_target = reward + mask * torch.min(self.q1_target(sa), self.q2_target(sa))
        sa = torch.cat((state, action), dim=1)
        critic_loss = (self.criterion(self.q1(sa), q_target.type_as(state))
                       + self.criterion(self.q2(sa), q_target.type_as(state)))
        self.cri_opt.zero_grad()
        critic_loss.backward()
        self.cri_opt.step()

        actor_loss = -self.q1(torch.cat((state, self.act(state).tanh()), dim=1)).mean()
        self.act_opt.zero_grad()
        actor_loss.backward()
        self.act_opt.step()
        for target, net in self.pairs:
            for t, p in zip(target.parameters(), net.parameters()):
                t.data.lerp_(p.data, self.tau)
        return critic_loss.item()


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    env = PointMass()
    agent = AgentTD3(env.state_dim, env.action_dim)
    buffer = ReplayBuffer(5000, env.state_dim, env.action_dim)
    for episode in range(8):
        state, done, ret, losses = env.reset(), False, 0.0, []
        while not done:
            action = agent.select_action(state)
            next_state, reward, done = env.step(action)
            buffer.append(state, action, reward, 0.0 if done else agent.gamma, next_state)
            state, ret = next_state, ret + reward
            if buffer.now > 64:
                losses.append(agent.update(buffer))
        print("episode %d return %.2f critic %.4f" % (episode, ret, np.mean(losses or [0])))


if __name__ == "__main__":
    main()
