import argparse
import math

import torch
import torch.nn as nn


class LayerNormLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.ih = nn.Linear(input_size, 4 * hidden_size, bias=False)
        self.hh = nn.Linear(hidden_size, 4 * hidden_size)
        self.ln_gates = nn.LayerNorm(4 * hidden_size)
        self.ln_cell = nn.LayerNorm(hidden_size)

    def forward(self, x, state):
        h, c = state
        i, f, g, o = self.ln_gates(self.ih(x) + self.hh(h)).chunk(4, dim=1)
        c = torch.sigmoid(f + 1.0) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(self.ln_cell(c))
        return h, c


class LearnedOptimizer(nn.Module):
    """Coordinatewise optimizer: gradient in, parameter step out."""

    def __init__(self, num_layers, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.linear_in = nn.Linear(2, hidden_size)
        self.lstms = nn.ModuleList()
        for _ in range(num_layers):
            self.lstms.append(LayerNormLSTMCell(hidden_size, hidden_size))
        self.linear_out = nn.Linear(hidden_size, 1)
        nn.init.normal_(self.linear_out.weight, std=0.05)
        nn.init.zeros_(self.linear_out.bias)

    def start(self, n):
        zeros = torch.zeros(n, self.hidden_size)
        return [(zeros, zeros) for _ in self.lstms]

    @staticmethod
    def preprocess(grad, p=10.0):
        size = grad.abs()
        big = size > math.exp(-p)
        log_part = torch.where(big, torch.log(size + 1e-12) / p, -torch.ones_like(grad))
        sign_part = torch.where(big, grad.sign(), math.exp(p) * grad)
        return torch.stack([log_part, sign_part], dim=1)

    def forward(self, grad, states):
        x = torch.tanh(self.linear_in(self.preprocess(grad)))
        new_states = []
        for cell, state in zip(self.lstms, states):
            state = cell(x, state)
            x = state[0]
            new_states.append(state)
        return 0.1 * self.linear_out(x).squeeze(1), new_states


class LeastSquares:
    """One random task: minimise ||W theta - y||^2."""

    def __init__(self, dim):
        self.W = torch.randn(dim, dim) / math.sqrt(dim)
        self.y = torch.randn(dim)

    def loss(self, theta):
        return ((self.W @ theta - self.y) ** 2).mean()

    def grad(self, theta):
        return 2 * self.W.t() @ (self.W @ theta - self.y) / len(self.y)


def unroll(meta, task, theta, states, steps):
    total = 0.0
    for _ in range(steps):
        step, states = meta(task.grad(theta).detach(), states)
        theta = theta + step
        total = total + task.loss(theta)
    return total / steps, theta, states


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--hidden-size", type=int, default=20)
    parser.add_argument("--num-layers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--optimizer-steps", type=int, default=60)
    parser.add_argument("--truncated-bptt", type=int, default=20)
    args = parser.parse_args()
    torch.manual_seed(0)

    meta = LearnedOptimizer(args.num_layers, args.hidden_size)
    optimizer = torch.optim.Adam(meta.parameters(), lr=3e-3)

    for epoch in range(args.epochs):
        final = 0.0
        for _ in range(args.tasks):
            task = LeastSquares(args.dim)
            theta, states = torch.zeros(args.dim), meta.start(args.dim)
            for _ in range(args.optimizer_steps // args.truncated_bptt):
                loss, theta, states = unroll(meta, task, theta, states, args.truncated_bptt)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(meta.parameters(), 1.0)
                optimizer.step()
                theta = theta.detach()
                states = [(h.detach(), c.detach()) for h, c in states]
            final += task.loss(theta).item()
        print(f"epoch {epoch + 1}: mean final loss {final / args.tasks:.4f}")


if __name__ == "__main__":
    main()
