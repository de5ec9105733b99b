import torch
import torch.nn as nn


class QNet(nn.Module):
    def __init__(self, n_obs=6, n_actions=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, n_actions))

    def forward(self, x):
        return self.net(x)


class Replay:
    def __init__(self, capacity=500, n_obs=6):
        self.obs = torch.randn(capacity, n_obs)
        self.next_obs = torch.randn(capacity, n_obs)
        self.action = torch.randint(0, 4, (capacity,))
        self.reward = torch.randn(capacity)

    def sample(self, n):
        i = torch.randint(0, len(self.reward), (n,))
        return self.obs[i], self.action[i], self.reward[i], self.next_obs[i]


torch.manual_seed(0)
BATCH = 32
q, target = QNet(), QNet()
target.load_state_dict(q.state_dict())
replay = Replay()
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
rows = torch.arange(2 * BATCH)

for step in range(10):
    obs, action, reward, nxt = replay.sample(2 * BATCH)
    q_sa = q(obs)[rows, action]
    with torch.no_grad():
        best = target(nxt).max(dim=1).values
    loss = nn.functional.smooth_l1_loss(q_sa, reward + 0.99 * best)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("td loss", loss.item())
