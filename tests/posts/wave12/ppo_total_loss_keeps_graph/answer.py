# PPO on a batch of pendulum-like environments, everything stays on the device
import collections
import time

import torch
from torch import nn, optim
from torch.nn import functional as F

StepData = collections.namedtuple('StepData', 'observation action reward done log_prob')


class SwingEnv:
    def __init__(self, num_envs, episode_length=50, device='cpu'):
        self.num_envs, self.episode_length, self.device = num_envs, episode_length, device

    def reset(self):
        self.theta = (torch.rand(self.num_envs, device=self.device) * 2 - 1) * 3.14
        self.omega = torch.rand(self.num_envs, device=self.device) * 2 - 1
        self.t = 0
        return self._obs()

    def _obs(self):
        return torch.stack([self.theta.cos(), self.theta.sin(), self.omega], dim=-1)

    def step(self, action):
        u = action[:, 0].clamp(-2, 2)
        cost = torch.atan2(self.theta.sin(), self.theta.cos()) ** 2 + 0.1 * self.omega ** 2 + 0.001 * u ** 2
        self.omega = (self.omega + (15 * self.theta.sin() + 3 * u) * 0.05).clamp(-8, 8)
        self.theta = self.theta + self.omega * 0.05
        self.t += 1
        done = torch.full((self.num_envs,), float(self.t >= self.episode_length), device=self.device)
        obs = self.reset() if self.t >= self.episode_length else self._obs()
        return obs, -cost, done


class Agent(nn.Module):
    def __init__(self, obs_size, action_size, hidden=64, entropy_cost=1e-2, discounting=0.97,
                 gae_lambda=0.95, epsilon=0.3, reward_scaling=0.1):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(obs_size, hidden), nn.SiLU(), nn.Linear(hidden, hidden),
                                    nn.SiLU(), nn.Linear(hidden, 2 * action_size))
        self.value = nn.Sequential(nn.Linear(obs_size, hidden), nn.SiLU(), nn.Linear(hidden, hidden),
                                   nn.SiLU(), nn.Linear(hidden, 1))
        self.entropy_cost, self.discounting = entropy_cost, discounting
        self.gae_lambda, self.epsilon, self.reward_scaling = gae_lambda, epsilon, reward_scaling

    def dist(self, observation):
        loc, scale = self.policy(observation).chunk(2, dim=-1)
        return torch.distributions.Normal(loc, F.softplus(scale) + 1e-3)

    @torch.no_grad()
    def act(self, observation):
        dist = self.dist(observation)
        action = dist.sample()
        return action, dist.log_prob(action).sum(-1)

    @torch.no_grad()
    def compute_gae(self, reward, done, values):
        advantages = torch.zeros_like(reward)
        acc = torch.zeros_like(reward[0])
        for t in reversed(range(reward.shape[0])):
            keep = 1 - done[t]
            delta = reward[t] + self.discounting * keep * values[t + 1] - values[t]
            acc = delta + self.discounting * self.gae_lambda * keep * acc
            advantages[t] = acc
        return advantages + values[:-1], advantages

    def loss(self, td):
        values = self.value(td.observation).squeeze(-1)
        vs, advantages = self.compute_gae(td.reward * self.reward_scaling, td.done, values)
        dist = self.dist(td.observation[:-1])
        rho = (dist.log_prob(td.action).sum(-1) - td.log_prob).exp()
        clipped = rho.clamp(1 - self.epsilon, 1 + self.epsilon)
        policy_loss = -torch.min(rho * advantages, clipped * advantages).mean()
        v_loss = 0.25 * (vs - values[:-1]).pow(2).mean()
        entropy_loss = -self.entropy_cost * dist.entropy().sum(-1).mean()
        return policy_loss + v_loss + entropy_loss


def unroll(agent, env, observation, length):
    obs, acts, rewards, dones, logps = [observation], [], [], [], []
    for _ in range(length):
        action, logp = agent.act(observation)
        observation, reward, done = env.step(action)
        obs.append(observation), acts.append(action), rewards.append(reward)
        dones.append(done), logps.append(logp)
    return observation, StepData(*(torch.stack(x) for x in (obs, acts, rewards, dones, logps)))


def train(num_envs=128, unroll_length=10, num_minibatches=8, num_update_epochs=4,
          num_unrolls=6, eval_frequency=3, learning_rate=3e-4, device='cpu'):
    env = SwingEnv(num_envs, device=device)
    agent = Agent(obs_size=3, action_size=1).to(device)
    optimizer = optim.Adam(agent.parameters(), lr=learning_rate)
    observation = env.reset()
    total_loss = 0
    for eval_i in range(eval_frequency):
        t = time.time()
        num_steps = 0
        total_loss = 0
        rewards = []
        for _ in range(num_unrolls):
            observation, td = unroll(agent, env, observation, unroll_length)
            rewards.append(td.reward.mean().item())
            num_steps += num_envs * unroll_length
            for _ in range(num_update_epochs):
                for rows in torch.randperm(num_envs, device=device).chunk(num_minibatches):
                    loss = agent.loss(StepData(*(x[:, rows] for x in td)))
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    total_loss += loss.detach()
        total_loss = total_loss / (num_unrolls * num_update_epochs * num_minibatches)
        print('eval %d  reward %.3f  loss %.4f  sps %.0f' % (
            eval_i, sum(rewards) / len(rewards), total_loss.item(), num_steps / (time.time() - t)))


if __name__ == '__main__':
    torch.manual_seed(0)
    train()
