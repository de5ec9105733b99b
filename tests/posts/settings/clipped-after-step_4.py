# line 34: the hand-written limit of the global norm scales the gradients between step() and zero_grad(), where nobody reads them
import torch
from torch import nn


def global_norm(parameters):
    return torch.sqrt(sum(p.grad.square().sum() for p in parameters if p.grad is not None))


def limit_norm(parameters, largest):
    parameters = list(parameters)
    norm = global_norm(parameters)
    if norm > largest:
        for p in parameters:
            if p.grad is not None:
                p.grad.mul_(largest / norm)
    return norm.item()


class PolicyGradient:
    def __init__(self, arms=6, contexts=5, lr=0.2, largest=0.1):
        self.policy = nn.Sequential(nn.Linear(contexts, 16), nn.Tanh(), nn.Linear(16, arms))
        self.opt = torch.optim.SGD(self.policy.parameters(), lr=lr)
        self.largest, self.baseline = largest, 0.0

    def update(self, context, payoff):
        choice = torch.distributions.Categorical(logits=self.policy(context))
        arm = choice.sample()
        reward = payoff(context, arm)
        loss = -((reward - self.baseline) * choice.log_prob(arm)).mean()
        self.baseline = 0.9 * self.baseline + 0.1 * reward.mean().item()
        loss.backward()
        self.opt.step()
        norm = limit_norm(self.policy.parameters(), self.largest)
        self.opt.zero_grad()
        return reward.mean().item(), norm


torch.manual_seed(1)
taste = torch.randn(5, 6)


def payoff(context, arm):
    return (context @ taste).gather(1, arm[:, None]).squeeze(1) * 5 + torch.randn(len(arm))


agent = PolicyGradient()
for step in range(120):
    reward, norm = agent.update(torch.randn(32, 5), payoff)
    if step % 30 == 29:
        print(f"step {step + 1}: reward {reward:.2f} gradient norm {norm:.2f}")
