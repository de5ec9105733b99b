import torch
import torch.nn as nn
import torch.nn.functional as F


class FFPolicy(nn.Module):
    """what every policy shares: acting, and evaluating the actions of a rollout"""

    def act(self, inputs, deterministic=False):
        value, logits = self(inputs)
        return value, self.dist.sample(logits, deterministic)

    def evaluate_actions(self, inputs, actions):
        value, logits = self(inputs)
        log_probs, entropy = self.dist.logprobs_and_entropy(logits, actions)
        return value, log_probs, entropy


class Categorical(nn.Module):
    def sample(self, logits, deterministic):
        probs = F.softmax(logits, dim=1)
        if deterministic:
            return probs.max(1, keepdim=True)[1]
        return probs.multinomial(1)

    def logprobs_and_entropy(self, logits, actions):
        log_probs = F.log_softmax(logits, dim=1)
        probs = F.softmax(logits, dim=1)
        dist_entropy = -(log_probs * probs).sum(-1).mean()
        return log_probs.gather(1, actions), dist_entropy


class MLPPolicy(FFPolicy):
    def __init__(self, num_inputs=8, num_actions=4):
        super(MLPPolicy, self).__init__()
        self.a_fc1, self.a_fc2 = nn.Linear(num_inputs, 64), nn.Linear(64, 64)
        self.v_fc1, self.v_fc2 = nn.Linear(num_inputs, 64), nn.Linear(64, 64)
        self.action_linear, self.critic_linear = nn.Linear(64, num_actions), nn.Linear(64, 1)
        self.dist = Categorical()

    def forward(self, inputs):
        v = torch.tanh(self.v_fc2(torch.tanh(self.v_fc1(inputs))))
        a = torch.tanh(self.a_fc2(torch.tanh(self.a_fc1(inputs))))
        return self.critic_linear(v), self.action_linear(a)


def a2c_loss(inputs, actions, returns):
    torch.manual_seed(1)
    policy = MLPPolicy(inputs.size(1))
    values, action_log_probs, dist_entropy = policy.evaluate_actions(inputs, actions)
    advantages = returns - values
    action_loss = -(advantages.detach() * action_log_probs).mean()
    return advantages.pow(2).mean() * 0.5 + action_loss - dist_entropy * 0.01
