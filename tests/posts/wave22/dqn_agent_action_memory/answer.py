import numpy as np
import torch as T
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

np.random.seed(0)
T.manual_seed(0)


class ReplayBuffer:
    def __init__(self, max_size, input_dims):
        self.mem_size = max_size
        self.mem_cntr = 0
        self.state_memory = np.zeros((max_size, input_dims), dtype=np.float32)
        self.new_state_memory = np.zeros((max_size, input_dims), dtype=np.float32)
        self.action_memory = np.zeros(max_size, dtype=np.int64)
        self.reward_memory = np.zeros(max_size, dtype=np.float32)
        self.terminal_memory = np.zeros(max_size, dtype=bool)

    def store_transition(self, state, action, reward, state_, done):
        index = self.mem_cntr % self.mem_size
        self.state_memory[index] = state
        self.new_state_memory[index] = state_
        self.action_memory[index] = action
        self.reward_memory[index] = reward
        self.terminal_memory[index] = done
        self.mem_cntr += 1

    def sample_buffer(self, batch_size):
        max_mem = min(self.mem_cntr, self.mem_size)
        batch = np.random.choice(max_mem, batch_size, replace=False)
        return (self.state_memory[batch], self.action_memory[batch], self.reward_memory[batch],
                self.new_state_memory[batch], self.terminal_memory[batch])


class DeepQNetwork(nn.Module):
    def __init__(self, lr, input_dims, n_actions):
        super().__init__()
        self.fc1 = nn.Linear(input_dims, 64)
        self.fc2 = nn.Linear(64, n_actions)
        self.optimizer = optim.Adam(self.parameters(), lr=lr)
        self.loss = nn.MSELoss()
        self.device = T.device("cuda:0" if T.cuda.is_available() else "cpu")
        self.to(self.device)

    def forward(self, state):
        return self.fc2(F.relu(self.fc1(state)))


class Agent:
    def __init__(self, input_dims, n_actions, gamma=0.9, epsilon=1.0, batch_size=32):
        self.gamma, self.epsilon = gamma, epsilon
        self.n_actions, self.batch_size = n_actions, batch_size
        self.memory = ReplayBuffer(2000, input_dims)
        self.q_eval = DeepQNetwork(2e-3, input_dims, n_actions)

    def choose_action(self, observation):
        if np.random.random() < self.epsilon:
            return np.random.randint(self.n_actions)
        state = T.tensor(observation, dtype=T.float32).to(self.q_eval.device)
        return self.q_eval(state).argmax().item()

    def learn(self):
        if self.memory.mem_cntr < self.batch_size:
            return
        device = self.q_eval.device
        samples = self.memory.sample_buffer(self.batch_size)
        states, actions, rewards, states_, dones = [T.tensor(s).to(device) for s in samples]
        indices = np.arange(self.batch_size)
        self.q_eval.optimizer.zero_grad()
        q_pred = self.q_eval(states)[indices, actions]
        with T.no_grad():
            q_next = self.q_eval(states_).max(dim=1)[0]
            q_next[dones] = 0.0
        loss = self.q_eval.loss(q_pred, rewards + self.gamma * q_next)
        loss.backward()
        self.q_eval.optimizer.step()
        self.epsilon = max(0.05, self.epsilon - 1e-3)


def step(position, action):
    position = int(np.clip(position + (1 if action == 1 else -1), 0, 6))
    return position, float(position == 6), position == 6


agent = Agent(input_dims=7, n_actions=2)
for episode in range(60):
    position, score, done, t = 3, 0.0, False, 0
    while not done and t < 40:
        obs = np.eye(7, dtype=np.float32)[position]
        action = agent.choose_action(obs)
        position, reward, done = step(position, action)
        agent.memory.store_transition(obs, action, reward, np.eye(7, dtype=np.float32)[position], done)
        agent.learn()
        score += reward
        t += 1
    if episode % 20 == 19:
        print(f"episode {episode + 1}: score {score:.1f}, steps {t}, epsilon {agent.epsilon:.2f}")
