import math
import random
from collections import namedtuple
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
random.seed(0)
Transition = namedtuple('Transition', ('state', 'action', 'next_state', 'reward'))


class CartPole:
    def reset(self):
        self.x, self.v, self.a, self.w = [random.uniform(-0.05, 0.05) for _ in range(4)]
        return self.screen()

    def step(self, action):
        force = 10.0 if action == 1 else -10.0
        tmp = (force + 0.05 * self.w ** 2 * math.sin(self.a)) / 1.1
        acc = (9.8 * math.sin(self.a) - math.cos(self.a) * tmp) / (0.5 * (4.0 / 3 - 0.1 * math.cos(self.a) ** 2 / 1.1))
        self.x, self.v = self.x + 0.02 * self.v, self.v + 0.02 * (tmp - 0.05 * acc * math.cos(self.a) / 1.1)
        self.a, self.w = self.a + 0.02 * self.w, self.w + 0.02 * acc
        return 1.0, abs(self.x) > 2.4 or abs(self.a) > 0.21

    def screen(self):
        s = torch.zeros(1, 1, 40, 80)
        c = min(max(int(40 + self.x * 15), 3), 76)
        s[..., 34:38, c - 3:c + 4] = 1
        for r in range(24):
            s[..., 33 - r, min(max(int(c + r * math.tan(self.a)), 0), 79)] = 1
        return s


class ReplayMemory(object):
    def __init__(self, capacity):
        self.capacity, self.memory = capacity, []

    def push(self, *args):
        self.memory.append(Transition(*args))
        del self.memory[:-self.capacity]

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)


class DQN(nn.Module):
    def __init__(self):
        super(DQN, self).__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=5, stride=2)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=5, stride=2)
        self.bn2 = nn.BatchNorm2d(32)
        self.head = nn.Linear(32 * 7 * 17, 2)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.head(x.view(x.size(0), -1))


BATCH_SIZE, GAMMA, EPS_START, EPS_END, EPS_DECAY = 32, 0.999, 0.9, 0.05, 200
model = DQN()
memory = ReplayMemory(10000)
optimizer = optim.RMSprop(model.parameters())
steps_done = 0


def select_action(state):
    global steps_done
    eps = EPS_END + (EPS_START - EPS_END) * math.exp(-1. * steps_done / EPS_DECAY)
    steps_done += 1
    if random.random() > eps:
        with torch.no_grad():
            return model(state).max(1)[1].view(1, 1)
    return torch.tensor([[random.randrange(2)]])


def optimize_model():
    batch = Transition(*zip(*memory.sample(BATCH_SIZE)))
    non_final_mask = torch.tensor([s is not None for s in batch.next_state])
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_action_values = model(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_state_values = torch.zeros(BATCH_SIZE)
    with torch.no_grad():
        next_state_values[non_final_mask] = model(non_final_next_states).max(1)[0]
    expected = next_state_values * GAMMA + torch.cat(batch.reward)
    loss = F.smooth_l1_loss(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    for param in model.parameters():
        param.grad.data.clamp_(-1, 1)
    optimizer.step()


env = CartPole()
for i_episode in range(4):
    last_screen = current_screen = env.reset()
    state = current_screen - last_screen
    for t in range(40):
        action = select_action(state)
        reward, done = env.step(action.item())
        last_screen, current_screen = current_screen, env.screen()
        next_state = None if done else current_screen - last_screen
        memory.push(state, action, next_state, torch.tensor([reward]))
        state = next_state
        if len(memory.memory) >= BATCH_SIZE:
            optimize_model()
        if done:
            break
    print('episode', i_episode, 'duration', t + 1)
