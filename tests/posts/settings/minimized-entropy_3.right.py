# line 40: the entropy of the Bernoulli policy is one of the summed terms with a positive weight
import torch
from torch import nn
from torch.distributions import Bernoulli

torch.manual_seed(0)


class SwitchBoard(nn.Module):
    """Decides for each of four valves whether it is opened."""

    def __init__(self, sensors=6, valves=4):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(sensors, 32), nn.Tanh())
        self.valves = nn.Linear(32, valves)
        self.value = nn.Linear(32, 1)

    def forward(self, s):
        h = self.trunk(s)
        return Bernoulli(logits=self.valves(h)), self.value(h).squeeze(-1)


def plant(readings, opened):
    wanted = (readings[:, :4] > 0).float()
    return -(wanted - opened).abs().sum(1)


def losses(board, readings):
    policy, value = board(readings)
    opened = policy.sample()
    gain = plant(readings, opened)
    advantage = (gain - value).detach()
    return {
        "policy": -(policy.log_prob(opened).sum(1) * advantage).mean(),
        "value": nn.functional.mse_loss(value, gain),
        "entropy": policy.entropy().sum(1).mean(),
    }


WEIGHTS = {"policy": 1.0, "value": 0.5, "entropy": -0.02}
board = SwitchBoard()
optimizer = torch.optim.Adam(board.parameters(), lr=5e-3)
for update in range(200):
    parts = losses(board, torch.randn(64, 6))
    loss = sum(WEIGHTS[name] * part for name, part in parts.items())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

board.eval()
with torch.no_grad():
    readings = torch.randn(500, 6)
    policy, _ = board(readings)
    print("reward", plant(readings, (policy.probs > 0.5).float()).mean().item())
