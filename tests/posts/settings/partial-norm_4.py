# line 30: the Lipschitz penalty of the sequence critic measures the gradient of each time step by itself (norm over the last dim)
import torch
import torch.nn.functional as F
from torch import nn


class SequenceCritic(nn.Module):
    def __init__(self, features=5, hidden=24):
        super().__init__()
        self.mix = nn.Conv1d(features, hidden, 3, padding=1)
        self.score = nn.Linear(hidden, 1)

    def forward(self, seq):
        return self.score(F.softplus(self.mix(seq.mT)).mean(-1)).squeeze(-1)


class WassersteinTrainer:
    def __init__(self, generator, critic, weight=10.0):
        self.generator, self.critic, self.weight = generator, critic, weight
        self.opt_g = torch.optim.RMSprop(generator.parameters(), lr=1e-3)
        self.opt_c = torch.optim.RMSprop(critic.parameters(), lr=1e-3)

    def fake(self, n):
        return self.generator(torch.randn(n, 6)).unflatten(1, (20, 5))

    def lipschitz(self, real, fake):
        mix = torch.rand(len(real), 1, 1)
        between = torch.lerp(fake, real, mix).requires_grad_()
        (slope,) = torch.autograd.grad(self.critic(between).sum(), between, create_graph=True)
        length = (slope.square().sum(dim=-1) + 1e-12).sqrt()
        return (length - 1).square().mean()

    def critic_step(self, real):
        fake = self.fake(len(real)).detach()
        loss = self.critic(fake).mean() - self.critic(real).mean() + self.weight * self.lipschitz(real, fake)
        self.opt_c.zero_grad()
        loss.backward()
        self.opt_c.step()
        return loss.item()

    def generator_step(self, n):
        loss = -self.critic(self.fake(n)).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()


torch.manual_seed(10)
real = torch.randn(256, 20, 5).cumsum(1) * 0.3
trainer = WassersteinTrainer(nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 100)), SequenceCritic())
for epoch in range(4):
    values = []
    for batch in real[torch.randperm(256)].split(32):
        values.append(trainer.critic_step(batch))
        trainer.generator_step(len(batch))
    print(epoch, sum(values) / len(values))
