# line 17: the gradients are clipped by value in the hook that runs after the step of the optimizer
import torch
from torch import nn
from torch.nn.utils import clip_grad_value_


class Callback:
    def after_backward(self, loop): ...
    def after_step(self, loop): ...


class ClipGradients(Callback):
    def __init__(self, limit):
        self.limit = limit

    def after_step(self, loop):
        clip_grad_value_(loop.model.parameters(), self.limit)


class Loop:
    def __init__(self, model, lr, callbacks):
        self.model, self.callbacks = model, callbacks
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)

    def fire(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(self)

    def step(self, x, y):
        self.opt.zero_grad()
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        self.fire("after_backward")
        self.opt.step()
        self.fire("after_step")
        return loss.item()


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.RNN(2, 24, batch_first=True), nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(-1)


torch.manual_seed(86)
numbers, flags = torch.rand(256, 15), torch.zeros(256, 15)
flags.scatter_(1, torch.rand(256, 15).argsort(1)[:, :2], 1.0)
x, y = torch.stack([numbers, flags], dim=-1), (numbers * flags).sum(1)
loop = Loop(Adder(), 0.02, [ClipGradients(0.1)])
for epoch in range(4):
    losses = [loop.step(x[rows], y[rows]) for rows in torch.randperm(256).split(32)]
    print(epoch, sum(losses) / len(losses))
