"""MAML on sine waves, as in Finn et al. 2017 but small."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


class SineTask:
    def __init__(self, gen):
        self.gen = gen
        self.amp = 0.1 + 4.9 * torch.rand(1, generator=gen)
        self.phase = math.pi * torch.rand(1, generator=gen)

    def draw(self, k):
        x = torch.rand(k, 1, generator=self.gen) * 10 - 5
        return x, self.amp * torch.sin(x + self.phase)


def adapt(model, params, x, y, lr, steps, second_order):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=second_order)
        params = {name: p - lr * g for (name, p), g in zip(params.items(), grads)}
    return params


def meta_train(model, args, gen):
    meta_opt = torch.optim.Adam(model.parameters(), lr=args.meta_lr)
    for it in range(1, args.iterations + 1):
        meta_opt.zero_grad()
        outer = 0.0
        for _ in range(args.meta_batch):
            task = SineTask(gen)
            fast = adapt(model, dict(model.named_parameters()), *task.draw(args.k), args.inner_lr, args.inner_steps, True)
            xq, yq = task.draw(args.k)
            loss = F.mse_loss(functional_call(model, fast, (xq,)), yq) / args.meta_batch
            loss.backward()
            outer += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        meta_opt.step()
        if it % args.log_every == 0:
            print(f'iteration {it} outer loss {outer:.4f}')


def meta_test(model, args, gen, tasks=5):
    before, after = [], []
    for _ in range(tasks):
        task = SineTask(gen)
        params = {n: p.detach().clone().requires_grad_(True) for n, p in model.named_parameters()}
        xs, ys = task.draw(args.k)
        xq, yq = task.draw(50)
        with torch.no_grad():
            before.append(F.mse_loss(functional_call(model, params, (xq,)), yq).item())
        fast = adapt(model, params, xs, ys, args.inner_lr, args.inner_steps, False)
        with torch.no_grad():
            after.append(F.mse_loss(functional_call(model, fast, (xq,)), yq).item())
    return sum(before) / tasks, sum(after) / tasks


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--iterations', type=int, default=60)
    p.add_argument('--meta-batch', type=int, default=4)
    p.add_argument('--k', type=int, default=10)
    p.add_argument('--inner-lr', type=float, default=0.01)
    p.add_argument('--inner-steps', type=int, default=2)
    p.add_argument('--meta-lr', type=float, default=1e-3)
    p.add_argument('--log-every', type=int, default=20)
    args = p.parse_args()
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    meta_train(model, args, gen)
    print('test mse before %.3f after %.3f' % meta_test(model, args, gen))


if __name__ == '__main__':
    main()
