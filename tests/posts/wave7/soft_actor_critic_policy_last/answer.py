import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(12)
nS, nA = 3, 1


class FCQSA(nn.Module):
    def __init__(self, input_dim, output_dim, hidden_dims=(256, 256)):
        super(FCQSA, self).__init__()
        self.input_layer = nn.Linear(input_dim + output_dim, hidden_dims[0])
        self.hidden_layer = nn.Linear(hidden_dims[0], hidden_dims[1])
        self.output_layer = nn.Linear(hidden_dims[1], 1)

    def forward(self, state, action):
        x = torch.cat((state, action), dim=1)
        x = F.relu(self.input_layer(x))
        x = F.relu(self.hidden_layer(x))
        return self.output_layer(x)


class FCGP(nn.Module):
    def __init__(self, input_dim, output_dim, hidden_dims=(256, 256), log_std_min=-20, log_std_max=2):
        super(FCGP, self).__init__()
        self.log_std_min, self.log_std_max = log_std_min, log_std_max
        self.input_layer = nn.Linear(input_dim, hidden_dims[0])
        self.hidden_layer = nn.Linear(hidden_dims[0], hidden_dims[1])
        self.mean_layer = nn.Linear(hidden_dims[1], output_dim)
        self.log_std_layer = nn.Linear(hidden_dims[1], output_dim)
        self.target_entropy = -float(output_dim)
        self.logalpha = torch.zeros(1, requires_grad=True)
        self.alpha_optimizer = optim.Adam([self.logalpha], lr=0.0001)

    def full_pass(self, state, epsilon=1e-6):
        x = F.relu(self.input_layer(state))
        x = F.relu(self.hidden_layer(x))
        mean = self.mean_layer(x)
        log_std = torch.clamp(self.log_std_layer(x), self.log_std_min, self.log_std_max)
        pi = torch.distributions.Normal(mean, log_std.exp())
        pre_tanh = pi.rsample()
        action = torch.tanh(pre_tanh)
        log_prob = pi.log_prob(pre_tanh) - torch.log((1 - action.pow(2)).clamp(0, 1) + epsilon)
        return action, log_prob.sum(dim=1, keepdim=True)


class SAC:
    def __init__(self, gamma=0.99, tau=0.001):
        self.gamma, self.tau = gamma, tau
        self.policy_model = FCGP(nS, nA)
        self.policy_optimizer = optim.Adam(self.policy_model.parameters(), lr=0.0003)
        self.online_a, self.target_a = FCQSA(nS, nA), FCQSA(nS, nA)
        self.online_b, self.target_b = FCQSA(nS, nA), FCQSA(nS, nA)
        self.target_a.load_state_dict(self.online_a.state_dict())
        self.target_b.load_state_dict(self.online_b.state_dict())
        self.optimizer_a = optim.Adam(self.online_a.parameters(), lr=0.0005)
        self.optimizer_b = optim.Adam(self.online_b.parameters(), lr=0.0005)

    def optimize_model(self, experiences):
        states, actions, rewards, next_states, is_terminals = experiences

        current_actions, logpi_s = self.policy_model.full_pass(states)
        target_alpha = (logpi_s + self.policy_model.target_entropy).detach()
        alpha_loss = -(self.policy_model.logalpha * target_alpha).mean()
        self.policy_model.alpha_optimizer.zero_grad()
        alpha_loss.backward()
        self.policy_model.alpha_optimizer.step()
        alpha = self.policy_model.logalpha.exp().detach()

        current_q = torch.min(self.online_a(states, current_actions), self.online_b(states, current_actions))
        policy_loss = (alpha * logpi_s - current_q).mean()

        self.policy_optimizer.zero_grad()
        policy_loss.backward()
        torch.nn.utils.clip_grad_norm_(self.policy_model.parameters(), 1.0)
        self.policy_optimizer.step()

        ap, logpi_sp = self.policy_model.full_pass(next_states)
        q_spap = torch.min(self.target_a(next_states, ap), self.target_b(next_states, ap)) - alpha * logpi_sp
        target_q_sa = (rewards + self.gamma * q_spap * (1 - is_terminals)).detach()
        qa_loss = (self.online_a(states, actions) - target_q_sa).pow(2).mul(0.5).mean()
        qb_loss = (self.online_b(states, actions) - target_q_sa).pow(2).mul(0.5).mean()

        self.optimizer_a.zero_grad()
        qa_loss.backward()
        self.optimizer_a.step()

        self.optimizer_b.zero_grad()
        qb_loss.backward()
        self.optimizer_b.step()

        return qa_loss.item(), policy_loss.item()

    def update_value_networks(self):
        for target, online in ((self.target_a, self.online_a), (self.target_b, self.online_b)):
            for t, o in zip(target.parameters(), online.parameters()):
                t.data.copy_((1 - self.tau) * t.data + self.tau * o.data)


agent = SAC()
memory = [(np.random.randn(nS), np.random.uniform(-1, 1, nA), np.random.rand(1), np.random.randn(nS), np.zeros(1))
          for _ in range(512)]
for step in range(5):
    batch = [memory[i] for i in np.random.choice(len(memory), 128)]
    experiences = [torch.tensor(np.vstack(sarsd), dtype=torch.float32) for sarsd in zip(*batch)]
    print(step, agent.optimize_model(experiences))
    agent.update_value_networks()
