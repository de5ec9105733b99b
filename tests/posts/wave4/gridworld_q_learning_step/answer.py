import random
from collections import deque
import numpy as np
import torch

random.seed(5)
np.random.seed(5)
torch.manual_seed(5)


class Gridworld:
    size = 4
    moves = {'u': (-1, 0), 'd': (1, 0), 'l': (0, -1), 'r': (0, 1)}

    def __init__(self):
        self.player, self.goal, self.pit, self.wall = (0, 3), (0, 0), (0, 1), (1, 1)

    def makeMove(self, m):
        r, c = self.player[0] + self.moves[m][0], self.player[1] + self.moves[m][1]
        if 0 <= r < self.size and 0 <= c < self.size and (r, c) != self.wall:
            self.player = (r, c)

    def reward(self):
        return 10 if self.player == self.goal else -10 if self.player == self.pit else -1

    def render_np(self):
        board = np.zeros((4, self.size, self.size), dtype=np.uint8)
        for i, (r, c) in enumerate((self.player, self.goal, self.pit, self.wall)):
            board[i, r, c] = 1
        return board


model = torch.nn.Sequential(
    torch.nn.Linear(64, 150), torch.nn.ReLU(),
    torch.nn.Linear(150, 100), torch.nn.ReLU(),
    torch.nn.Linear(100, 4),
)
loss_fn = torch.nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
gamma, epsilon, epochs = 0.9, 1.0, 12
action_set = {0: 'u', 1: 'd', 2: 'l', 3: 'r'}
losses = deque(maxlen=500)

for i in range(epochs):
    game = Gridworld()
    state = torch.from_numpy(game.render_np().reshape(1, 64) + np.random.rand(1, 64) / 10.0).float()
    status, mov = 1, 0
    while status == 1 and mov < 25:
        qval = model(state)
        if random.random() < epsilon:
            action_ = np.random.randint(0, 4)
        else:
            action_ = int(torch.argmax(qval))
        game.makeMove(action_set[action_])
        state2 = torch.from_numpy(game.render_np().reshape(1, 64) + np.random.rand(1, 64) / 10.0).float()
        reward = game.reward()
        with torch.no_grad():
            maxQ = torch.max(model(state2))
        Y = reward + gamma * maxQ if reward == -1 else reward
        Y = torch.Tensor([Y]).detach()
        X = qval.squeeze()[action_]
        loss = loss_fn(X, Y.squeeze())
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
        state = state2
        mov += 1
        if reward != -1:
            status = 0
    if epsilon > 0.1:
        epsilon -= 1 / epochs
    print(i, round(float(np.mean(losses)), 4))
