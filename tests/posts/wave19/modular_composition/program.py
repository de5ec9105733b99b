import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

FUNCTIONS = {
    "sin": lambda x: torch.sin(2 * x),
    "sq": lambda x: x ** 2 - 1,
    "abs": lambda x: 1 - x.abs(),
    "lin": lambda x: -0.8 * x + 0.2,
}


def make_tasks(n_points=32, seed=0):
    """every task is the composition of two of the functions"""
    g = torch.Generator().manual_seed(seed)
    names = list(FUNCTIONS)
    tasks = []
    for first in names:
        for second in names:
            x = torch.rand(n_points * 2, 1, generator=g) * 4 - 2
            y = FUNCTIONS[second](FUNCTIONS[first](x))
            structure = {"modules": [names.index(first), names.index(second)]}
            tasks.append(
                {
                    "name": f"{second}({first})",
                    "structure": structure,
                    "train": (x[:n_points], y[:n_points]),
                    "val": (x[n_points:], y[n_points:]),
                }
            )
    return tasks


class Block(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)


class CompositionNet(nn.Module):
    """net(x) = m_k( ... m_1(x)) with the modules listed in the structure"""

    def __init__(self, module_list):
        super().__init__()
        self.module_list = nn.ModuleList(module_list)
        self.structure = None

    def set_structure(self, structure):
        self.structure = structure
        return self

    def forward(self, x):
        for mod in self.module_list:
            x = mod(x)
        return x


def evaluate(net, tasks, split):
    with torch.no_grad():
        losses = []
        for task in tasks:
            x, y = task[split]
            losses.append(F.mse_loss(net.set_structure(task["structure"])(x), y).item())
    return losses


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=24)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--meta-batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    random.seed(args.seed)
    torch.manual_seed(args.seed)
    tasks = make_tasks()
    net = CompositionNet([Block(args.hidden) for _ in FUNCTIONS])
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)

    for step in range(1, args.steps + 1):
        loss = 0.0
        for task in random.sample(tasks, args.meta_batch):
            x, y = task["train"]
            loss = loss + F.mse_loss(net.set_structure(task["structure"])(x), y)
        loss = loss / args.meta_batch
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        if step % 300 == 0:
            val = evaluate(net, tasks, "val")
            print(f"step {step}: train {loss.item():.4f}, val {sum(val) / len(val):.4f}")

    for task, value in zip(tasks, evaluate(net, tasks, "val")):
        print(f"{task['name']:>10s} {value:.4f}")


if __name__ == "__main__":
    main()
