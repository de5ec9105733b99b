# line 22: the gradients summed up over the small batches are clipped when the step has already used them
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_


class Accumulator:
    def __init__(self, model, optimizer, every=4, max_norm=0.5):
        self.model, self.optimizer = model, optimizer
        self.every, self.max_norm = every, max_norm
        self.count = 0
        self.norms = []

    def backward(self, loss):
        (loss / self.every).backward()
        self.count += 1
        if self.count % self.every == 0:
            self.apply()

    def apply(self):
        self.optimizer.step()
        norm = clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.norms.append(norm.item())
        self.optimizer.zero_grad(set_to_none=True)


class Adder(nn.Module):
    """The adding problem: the sum of the two marked numbers of a sequence."""

    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.RNN(2, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, sequence):
        return self.out(self.rnn(sequence)[0][:, -1]).squeeze(1)


def problems(n, length=20):
    numbers = torch.rand(n, length)
    first, second = torch.randint(0, 10, (n, 1)), torch.randint(10, length, (n, 1))
    marks = torch.zeros(n, length).scatter_(1, torch.cat([first, second], dim=1), 1.0)
    return torch.stack([numbers, marks], dim=2), (numbers * marks).sum(1)


torch.manual_seed(99)
net = Adder()
accumulator = Accumulator(net, torch.optim.SGD(net.parameters(), lr=0.1))
for i in range(160):
    sequence, total = problems(8)
    loss = nn.functional.mse_loss(net(sequence), total)
    accumulator.backward(loss)
    if i % 40 == 39:
        print(f"{i + 1} small batches: loss {loss.item():.4f} norm {accumulator.norms[-1]:.3f}")
