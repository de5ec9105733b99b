import math

import numpy as np
import torch
import torch.nn as nn

class Pole:
    """the usual cart with a pole, 200 steps at most"""

    def reset(self):
        self.s = np.random.uniform(-0.05, 0.05, size=4)
        self.t = 0
        return self.s.copy()

    def step(self, action):
        x, xd, th, thd = self.s
        force = 10.0 if action == 1 else -10.0
        tmp = (force + 0.05 * thd ** 2 * math.sin(th)) / 1.1
        thacc = (9.8 * math.sin(th) - math.cos(th) * tmp) / (0.5 * (4.0 / 3.0 - 0.1 * math.cos(th) ** 2 / 1.1))
        xacc = tmp - 0.05 * thacc * math.cos(th) / 1.1
        self.s = np.array([x + 0.02 * xd, xd + 0.02 * xacc, th + 0.02 * thd, thd + 0.02 * thacc])
        self.t += 1
        done = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.209 or self.t >= 200
        return self.s.copy(), 1.0, done


STATE_DIM, HIDDEN, N_ACTIONS = 4, 150, 2
policy = nn.Sequential(
    nn.Linear(STATE_DIM, HIDDEN),
    nn.LeakyReLU(),
    nn.Linear(HIDDEN, N_ACTIONS),
    nn.Softmax(dim=0),
)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.003)


def discount_rewards(rewards, gamma=0.99):
    disc = torch.zeros_like(rewards)
    running = 0.0
    for t in reversed(range(len(rewards))):
        running = rewards[t] + gamma * running
        disc[t] = running
    return (disc - disc.mean()) / (disc.std() + 1e-8)


def policy_loss(probs, returns):
    return -torch.mean(returns * torch.log(probs + 1e-8))


def play_episode(env):
    state = env.reset()
    transitions = []
    done = False
    while not done:
        with torch.no_grad():
            p = policy(torch.from_numpy(state).float())
        action = np.random.choice(N_ACTIONS, p=p.numpy() / p.numpy().sum())
        nxt, reward, done = env.step(action)
        transitions.append((state, action, reward))
        state = nxt
    return transitions


def smooth(values, k=50):
    kernel = np.ones(k) / k
    return np.convolve(values, kernel, mode="valid")


def main(episodes=200):
    torch.manual_seed(0)
    np.random.seed(0)
    env = Pole()
    lengths = []
    for episode in range(episodes):
        transitions = play_episode(env)
        lengths.append(len(transitions))

        reward_batch = torch.tensor([r for _, _, r in transitions])
        returns = discount_rewards(reward_batch)
        state_batch = torch.from_numpy(np.stack([s for s, _, _ in transitions])).float()
        action_batch = torch.tensor([int(a) for _, a, _ in transitions])

        pred_batch = policy(state_batch)
        prob_batch = pred_batch.gather(dim=1, index=action_batch.view(-1, 1)).squeeze()
        loss = policy_loss(prob_batch, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        if (episode + 1) % 50 == 0:
            print(f"episode {episode + 1}: mean length of the last 50 = {np.mean(lengths[-50:]):.1f}")
    print("best running mean:", smooth(lengths).max().round(1))


if __name__ == "__main__":
    main()
