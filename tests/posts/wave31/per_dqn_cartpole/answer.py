import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class CartPole:
    """Small cart-pole so that nothing has to be installed."""

    def reset(self):
        self.s = np.random.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.copy()

    def step(self, action):
        x, v, th, w = self.s
        force = 10.0 if action == 1 else -10.0
        tmp = (force + 0.05 * w ** 2 * np.sin(th)) / 1.1
        acc_th = (9.8 * np.sin(th) - np.cos(th) * tmp) / (0.5 * (4 / 3 - 0.1 * np.cos(th) ** 2 / 1.1))
        acc = tmp - 0.05 * acc_th * np.cos(th) / 1.1
        self.s = self.s + 0.02 * np.array([v, acc, w, acc_th])
        self.t += 1
        done = bool(abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.21 or self.t >= 200)
        return self.s.copy(), 1.0, done


class QNetwork(nn.Module):
    def __init__(self, state_size, action_size, layer_size, seed):
        super(QNetwork, self).__init__()
        self.seed = torch.manual_seed(seed)
        self.head = nn.Linear(state_size, layer_size)
        self.ff_1 = nn.Linear(layer_size, layer_size)
        self.ff_2 = nn.Linear(layer_size, action_size)

    def forward(self, x):
        return self.ff_2(torch.relu(self.ff_1(torch.relu(self.head(x)))))


class PrioritizedReplay:
    def __init__(self, capacity, batch_size, alpha=0.6, beta=0.4):
        self.capacity, self.batch_size, self.alpha, self.beta = capacity, batch_size, alpha, beta
        self.memory, self.priorities, self.pos = [], np.zeros(capacity, dtype=np.float32), 0

    def add(self, *transition):
        top = self.priorities.max() if self.memory else 1.0
        if len(self.memory) < self.capacity:
            self.memory.append(transition)
        else:
            self.memory[self.pos] = transition
        self.priorities[self.pos] = top
        self.pos = (self.pos + 1) % self.capacity

    def sample(self):
        probs = self.priorities[:len(self.memory)] ** self.alpha
        probs = probs / probs.sum()
        idx = np.random.choice(len(self.memory), self.batch_size, p=probs)
        weights = (len(self.memory) * probs[idx]) ** (-self.beta)
        weights = (weights / weights.max()).reshape(-1, 1)
        s, a, r, ns, d = zip(*[self.memory[i] for i in idx])
        return np.array(s), np.array(a), np.array(r), np.array(ns), np.array(d), idx, weights

    def update_priorities(self, idx, priorities):
        self.priorities[idx] = priorities.ravel()


class DQNAgent:
    def __init__(self, args, device):
        self.args, self.device = args, device
        self.local = QNetwork(4, 2, 64, args.seed).to(device)
        self.target = QNetwork(4, 2, 64, args.seed).to(device)
        self.optimizer = optim.Adam(self.local.parameters(), lr=args.lr)
        self.memory = PrioritizedReplay(args.m, args.batch_size)

    def act(self, state, eps):
        if random.random() < eps:
            return random.randint(0, 1)
        with torch.no_grad():
            return int(self.local(torch.from_numpy(state).float().to(self.device)).argmax())

    def learn_per(self):
        states, actions, rewards, next_states, dones, idx, weights = self.memory.sample()
        states = torch.FloatTensor(states).to(self.device)
        next_states = torch.FloatTensor(next_states).to(self.device)
        actions = torch.LongTensor(actions).to(self.device).unsqueeze(1)
        rewards = torch.FloatTensor(rewards).to(self.device).unsqueeze(1)
        dones = torch.FloatTensor(dones).to(self.device).unsqueeze(1)
        weights = torch.FloatTensor(weights).to(self.device)

        self.optimizer.zero_grad()
        q_next = self.target(next_states).detach().max(1)[0].unsqueeze(1)
        q_targets = rewards + self.args.gamma * q_next * (1 - dones)
        q_expected = self.local(states).gather(1, actions)
        td_error = q_targets - q_expected
        loss = (td_error.pow(2) * weights).mean().to(self.device)
        loss.backward()
        nn.utils.clip_grad_norm_(self.local.parameters(), 1)
        self.optimizer.step()

        for t, l in zip(self.target.parameters(), self.local.parameters()):
            t.data.copy_(self.args.tau * l.data + (1 - self.args.tau) * t.data)
        self.memory.update_priorities(idx, td_error.detach().abs().cpu().numpy() + 1e-5)
        return loss.detach().cpu().numpy()


def run(args):
    random.seed(args.seed), np.random.seed(args.seed)
    env = CartPole()
    agent = DQNAgent(args, torch.device("cuda:0" if torch.cuda.is_available() else "cpu"))
    state, score, scores = env.reset(), 0, []
    for frame in range(1, args.frames + 1):
        eps = max(0.05, 1 - frame / args.eps_frames)
        action = agent.act(state, eps)
        next_state, reward, done = env.step(action)
        agent.memory.add(state, action, reward, next_state, float(done))
        state, score = next_state, score + reward
        if frame > args.fill_buffer:
            agent.learn_per()
        if done:
            scores.append(score)
            state, score = env.reset(), 0
    print("episodes %d, average of the last ten: %.1f" % (len(scores), np.mean(scores[-10:])))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    for flag, value in (("frames", 1500), ("m", 5000), ("fill_buffer", 200), ("eps_frames", 800), ("seed", 42),
                        ("batch_size", 32), ("lr", 1e-3), ("gamma", 0.99), ("tau", 0.01)):
        p.add_argument("-" + flag, type=type(value), default=value)
    run(p.parse_args())
