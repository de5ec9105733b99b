import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

HISTORY_LEN, OBS_SIZE, ACTION_SIZE = 4, 160, 19


class TemporalLastPooling(nn.Module):
    def forward(self, x):
        return x[:, -1:, :]


class TemporalAvgPooling(nn.Module):
    def forward(self, x):
        return x.mean(1, keepdim=True)


class TemporalMaxPooling(nn.Module):
    def forward(self, x):
        return x.max(1, keepdim=True)[0]


class TemporalAttentionPooling(nn.Module):
    def __init__(self, features_in, activation='softmax'):
        super().__init__()
        act = {'softmax': nn.Softmax(dim=1), 'tanh': nn.Tanh(), 'sigmoid': nn.Sigmoid()}[activation]
        self.attention_pooling = nn.Sequential(nn.Conv1d(features_in, 1, kernel_size=1, bias=True), act)

    def forward(self, x):
        """
        :param x: [batch_size, history_len, feature_size]
        """
        x_a = x.transpose(1, 2)
        x_attn = (self.attention_pooling(x_a) * x_a).transpose(1, 2)
        return x_attn.sum(1, keepdim=True)


class LamaPooling(nn.Module):
    """last, average, max and attention over the history, side by side"""

    def __init__(self, features_in):
        super().__init__()
        self.groups = nn.ModuleList([TemporalLastPooling(), TemporalAvgPooling(), TemporalMaxPooling(),
                                     TemporalAttentionPooling(features_in)])
        self.features_out = features_in * len(self.groups)

    def forward(self, x):
        return torch.cat([pool(x) for pool in self.groups], dim=-1).flatten(1)


class StateNet(nn.Module):
    def __init__(self, hidden=128, extra=0):
        super().__init__()
        self.observation_net = nn.Sequential(nn.Linear(OBS_SIZE, hidden), nn.LayerNorm(hidden), nn.ReLU())
        self.aggregation_net = LamaPooling(hidden)
        self.main_net = nn.Sequential(
            nn.Linear(self.aggregation_net.features_out + extra, hidden), nn.LayerNorm(hidden), nn.ReLU())

    def forward(self, state, *extra):
        x = self.aggregation_net(self.observation_net(state))
        return self.main_net(torch.cat([x, *extra], dim=1))


class LamaActor(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.state_net = StateNet(hidden)
        self.policy_net = nn.Sequential(nn.Linear(hidden, ACTION_SIZE), nn.Sigmoid())

    def forward(self, state):
        return self.policy_net(self.state_net(state))


class LamaCritic(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.state_net = StateNet(hidden, extra=ACTION_SIZE)
        self.value_net = nn.Linear(hidden, 1)

    def forward(self, state, action):
        return self.value_net(self.state_net(state, action))


def replay(n=256):
    states = torch.randn(n, HISTORY_LEN + 1, OBS_SIZE)
    return TensorDataset(states[:, :-1], torch.rand(n, ACTION_SIZE), torch.randn(n, 1), states[:, 1:])


if __name__ == '__main__':
    torch.manual_seed(42)
    actor, critic = LamaActor(), LamaCritic()
    target_actor, target_critic = LamaActor(), LamaCritic()
    target_actor.load_state_dict(actor.state_dict())
    target_critic.load_state_dict(critic.state_dict())
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-4)
    for states_t, actions_t, rewards_t, states_tp1 in DataLoader(replay(), batch_size=64, shuffle=True):
        with torch.no_grad():
            v_atp1 = target_critic(states_tp1, target_actor(states_tp1))
            q_target = rewards_t + 0.96 * v_atp1
        value_loss = F.mse_loss(critic(states_t, actions_t), q_target)
        critic_optimizer.zero_grad()
        value_loss.backward()
        critic_optimizer.step()

        policy_loss = -critic(states_t, actor(states_t)).mean()
        actor_optimizer.zero_grad()
        policy_loss.backward()
        actor_optimizer.step()
        for target, source in [(target_actor, actor), (target_critic, critic)]:
            for t, s in zip(target.parameters(), source.parameters()):
                t.data.mul_(0.99).add_(s.data, alpha=0.01)
        print('value loss %.4f, policy loss %.4f' % (value_loss.item(), policy_loss.item()))
