import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions.categorical import Categorical
from torch.nn import init


class Flatten(nn.Module):
    def forward(self, input):
        return input.view(input.size(0), -1)


class CnnActorCriticNetwork(nn.Module):
    def __init__(self, output_size):
        super().__init__()
        self.feature = nn.Sequential(
            nn.Conv2d(in_channels=4, out_channels=32, kernel_size=8, stride=4),
            nn.ReLU(),
            nn.Conv2d(in_channels=32, out_channels=64, kernel_size=4, stride=2),
            nn.ReLU(),
            nn.Conv2d(in_channels=64, out_channels=64, kernel_size=4, stride=1),
            nn.ReLU(),
            Flatten(),
            nn.Linear(7 * 7 * 64, 256),
            nn.ReLU(),
            nn.Linear(256, 448),
            nn.ReLU()
        )
        self.actor = nn.Sequential(nn.Linear(448, 448), nn.ReLU(), nn.Linear(448, output_size))
        self.extra_layer = nn.Sequential(nn.Linear(448, 448), nn.ReLU())
        self.critic_ext = nn.Linear(448, 1)
        self.critic_int = nn.Linear(448, 1)
        for p in self.modules():
            if isinstance(p, (nn.Conv2d, nn.Linear)):
                init.orthogonal_(p.weight, np.sqrt(2))
                p.bias.data.zero_()

    def forward(self, state):
        x = self.feature(state)
        policy = self.actor(x)
        value_ext = self.critic_ext(self.extra_layer(x) + x)
        value_int = self.critic_int(self.extra_layer(x) + x)
        return policy, value_ext, value_int


def conv_features():
    return [nn.Conv2d(in_channels=1, out_channels=32, kernel_size=8, stride=4), nn.LeakyReLU(),
            nn.Conv2d(in_channels=32, out_channels=64, kernel_size=4, stride=2), nn.LeakyReLU(),
            nn.Conv2d(in_channels=64, out_channels=64, kernel_size=3, stride=1), nn.LeakyReLU(), Flatten()]


class RNDModel(nn.Module):
    def __init__(self):
        super().__init__()
        feature_output = 7 * 7 * 64
        self.predictor = nn.Sequential(*conv_features(), nn.Linear(feature_output, 512), nn.ReLU(), nn.Linear(512, 512))
        self.target = nn.Sequential(*conv_features(), nn.Linear(feature_output, 512))
        for param in self.target.parameters():
            param.requires_grad = False

    def forward(self, next_obs):
        return self.predictor(next_obs), self.target(next_obs)


class RNDAgent:
    def __init__(self, output_size, learning_rate=1e-4, ent_coef=0.001):
        self.model = CnnActorCriticNetwork(output_size)
        self.rnd = RNDModel()
        self.ent_coef = ent_coef
        self.optimizer = optim.Adam(list(self.model.parameters()) + list(self.rnd.predictor.parameters()), lr=learning_rate)

    def get_action(self, state):
        with torch.no_grad():
            policy, value_ext, value_int = self.model(torch.as_tensor(state / 255., dtype=torch.float32))
        return Categorical(logits=policy).sample(), value_ext.squeeze(1), value_int.squeeze(1)

    def compute_intrinsic_reward(self, next_obs):
        with torch.no_grad():
            predict, target = self.rnd(next_obs)
        return (target - predict).pow(2).sum(1) / 2

    def train_model(self, states, next_obs, actions, adv, ret_ext, ret_int):
        policy, value_ext, value_int = self.model(torch.as_tensor(states / 255., dtype=torch.float32))
        m = Categorical(logits=policy)
        predict, target = self.rnd(next_obs)
        forward_loss = F.mse_loss(predict, target.detach())
        critic_loss = F.mse_loss(value_ext.squeeze(1), ret_ext) + F.mse_loss(value_int.squeeze(1), ret_int)
        loss = -(m.log_prob(actions) * adv).mean() + 0.5 * critic_loss - self.ent_coef * m.entropy().mean() + forward_loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
rng = np.random.RandomState(0)
num_worker, num_actions = 8, 18
agent = RNDAgent(num_actions)
states = rng.randint(0, 256, (num_worker, 4, 84, 84)).astype(np.float32)
for update in range(3):
    actions, value_ext, value_int = agent.get_action(states)
    next_states = rng.randint(0, 256, (num_worker, 4, 84, 84)).astype(np.float32)
    next_obs = torch.from_numpy((next_states[:, 3:4] - 128) / 64).clamp(-5, 5)
    reward = torch.from_numpy((rng.rand(num_worker) > 0.9).astype(np.float32))
    intrinsic = agent.compute_intrinsic_reward(next_obs)
    adv = 2 * (reward - value_ext) + (intrinsic - value_int)
    loss = agent.train_model(states, next_obs, actions, adv, reward, intrinsic)
    print(f'update {update}: intrinsic reward {intrinsic.mean().item():.4f} loss {loss:.4f}')
    states = next_states
