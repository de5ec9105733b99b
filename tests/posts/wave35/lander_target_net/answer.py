import numpy as np
import torch as T
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class DockEnv:
    """1-d docking: push left, push right, or coast until parked at zero."""
    n_actions = 3

    def reset(self):
        self.s = np.random.uniform(-1, 1, size=2).astype(np.float32)
        self.t = 0
        return self.s.copy()

    def step(self, action):
        self.s[1] += (-0.1, 0.0, 0.1)[action]
        self.s[0] += 0.1 * self.s[1]
        self.t += 1
        reward = -float(abs(self.s[0]) + 0.1 * abs(self.s[1]))
        return self.s.copy(), reward, self.t >= 50


class ReplayBuffer:
    def __init__(self, max_size, input_dims):
        self.mem_size, self.mem_cntr = max_size, 0
        self.state = np.zeros((max_size, *input_dims), dtype=np.float32)
        self.new_state = np.zeros((max_size, *input_dims), dtype=np.float32)
        self.action = np.zeros(max_size, dtype=np.int64)
        self.reward = np.zeros(max_size, dtype=np.float32)
        self.done = np.zeros(max_size, dtype=bool)

    def store(self, s, a, r, s_, d):
        i = self.mem_cntr % self.mem_size
        self.state[i], self.action[i], self.reward[i] = s, a, r
        self.new_state[i], self.done[i] = s_, d
        self.mem_cntr += 1

    def sample(self, n):
        pick = np.random.choice(min(self.mem_cntr, self.mem_size), n, replace=False)
        return (self.state[pick], self.action[pick], self.reward[pick],
                self.new_state[pick], self.done[pick])


class DeepQNetwork(nn.Module):
    def __init__(self, lr, n_actions, input_dims):
        super(DeepQNetwork, self).__init__()
        self.fc1 = nn.Linear(*input_dims, 64)
        self.fc2 = nn.Linear(64, n_actions)
        self.optimizer = optim.RMSprop(self.parameters(), lr=lr)
        self.loss = nn.MSELoss()

    def forward(self, state):
        return self.fc2(F.relu(self.fc1(state)))


class DQNAgent:
    def __init__(self, gamma, lr, n_actions, input_dims, batch_size=32, replace=100):
        self.gamma, self.epsilon = gamma, 1.0
        self.n_actions, self.batch_size = n_actions, batch_size
        self.replace_target_cnt, self.learn_step_counter = replace, 0
        self.memory = ReplayBuffer(5000, input_dims)
        self.q_eval = DeepQNetwork(lr, n_actions, input_dims)
        self.q_next = DeepQNetwork(lr, n_actions, input_dims)

    def choose_action(self, observation):
        if np.random.random() > self.epsilon:
            state = T.tensor(observation[None], dtype=T.float)
            return T.argmax(self.q_eval.forward(state)).item()
        return np.random.choice(self.n_actions)

    def learn(self):
        if self.memory.mem_cntr < self.batch_size:
            return
        self.q_eval.optimizer.zero_grad()
        if self.learn_step_counter % self.replace_target_cnt == 0:
            self.q_next.load_state_dict(self.q_eval.state_dict())
        states, actions, rewards, states_, dones = map(T.tensor, self.memory.sample(self.batch_size))
        indices = np.arange(self.batch_size)
        q_pred = self.q_eval.forward(states)[indices, actions]
        q_next = self.q_next.forward(states_).max(dim=1)[0].detach()
        q_next[dones] = 0.0
        q_target = rewards + self.gamma * q_next
        loss = self.q_eval.loss(q_target, q_pred)
        loss.backward()
        self.q_eval.optimizer.step()
        self.learn_step_counter += 1
        self.epsilon = max(0.1, self.epsilon - 1e-3)


if __name__ == '__main__':
    np.random.seed(1)
    T.manual_seed(1)
    env = DockEnv()
    agent = DQNAgent(gamma=0.99, lr=1e-3, n_actions=env.n_actions, input_dims=(2,))
    scores = []
    for i in range(25):
        done, score = False, 0
        observation = env.reset()
        while not done:
            action = agent.choose_action(observation)
            observation_, reward, done = env.step(action)
            score += reward
            agent.memory.store(observation, action, reward, observation_, done)
            agent.learn()
            observation = observation_
        scores.append(score)
        if i % 5 == 0:
            print('episode', i, 'score %.1f' % score, 'average %.1f' % np.mean(scores[-10:]),
                  'epsilon %.2f' % agent.epsilon)
