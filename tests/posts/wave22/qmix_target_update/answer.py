import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(31)
rng = np.random.default_rng(31)

N_AGENTS, OBS_DIM, STATE_DIM, N_ACTIONS = 3, 6, 10, 4


class AgentNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(OBS_DIM, hidden)
        self.fc2 = nn.Linear(hidden, N_ACTIONS)

    def forward(self, obs):
        return self.fc2(F.relu(self.fc1(obs)))


class QMixNet(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.hidden = hidden
        self.hyper_w1 = nn.Linear(STATE_DIM, N_AGENTS * hidden)
        self.hyper_b1 = nn.Linear(STATE_DIM, hidden)
        self.hyper_w2 = nn.Linear(STATE_DIM, hidden)
        self.hyper_b2 = nn.Linear(STATE_DIM, 1)

    def forward(self, q_values, states):
        w1 = self.hyper_w1(states).abs().view(-1, N_AGENTS, self.hidden)
        b1 = self.hyper_b1(states).unsqueeze(1)
        h = F.elu(torch.bmm(q_values.unsqueeze(1), w1) + b1)
        w2 = self.hyper_w2(states).abs().unsqueeze(2)
        return torch.bmm(h, w2).view(-1, 1) + self.hyper_b2(states)


class QMixPolicy:
    def __init__(self, gamma=0.95, lr=2e-3, target_update_cycle=10):
        self.gamma = gamma
        self.target_update_cycle = target_update_cycle
        self.eval_net, self.target_net = AgentNet(), AgentNet()
        self.eval_qmix_net, self.target_qmix_net = QMixNet(), QMixNet()
        self.target_net.load_state_dict(self.eval_net.state_dict())
        self.target_qmix_net.load_state_dict(self.eval_qmix_net.state_dict())
        self.params = list(self.eval_net.parameters()) + list(self.eval_qmix_net.parameters())
        self.optimizer = torch.optim.RMSprop(self.params, lr=lr)

    def learn(self, batch, train_step):
        obs, actions, reward, next_obs, state, next_state = batch
        q_evals = self.eval_net(obs).gather(2, actions.unsqueeze(2)).squeeze(2)
        q_total = self.eval_qmix_net(q_evals, state)
        with torch.no_grad():
            q_targets = self.target_net(next_obs).max(dim=2)[0]
            q_total_target = self.target_qmix_net(q_targets, next_state)
        loss = F.mse_loss(q_total, reward + self.gamma * q_total_target)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, 10.0)
        self.optimizer.step()

        if train_step > 0 and train_step % self.target_update_cycle == 0:
            self.target_net.load_state_dict(self.eval_net.state_dict())
            self.target_qmix_net.load_state_dict(self.eval_qmix_net.state_dict())
        return loss.item()


def sample_batch(size=32):
    def tensor(*shape):
        return torch.tensor(rng.normal(size=shape), dtype=torch.float32)
    actions = torch.tensor(rng.integers(0, N_ACTIONS, size=(size, N_AGENTS)))
    obs = tensor(size, N_AGENTS, OBS_DIM)
    reward = (actions == obs[..., :N_ACTIONS].argmax(-1)).float().mean(1, keepdim=True)
    return obs, actions, reward, tensor(size, N_AGENTS, OBS_DIM), tensor(size, STATE_DIM), tensor(size, STATE_DIM)


policy = QMixPolicy()
losses = []
for train_step in range(201):
    losses.append(policy.learn(sample_batch(), train_step))
    if train_step % 50 == 0:
        print(f"step {train_step}: td loss {np.mean(losses[-50:]):.4f}")
