import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for i in range(len(sizes) - 1):
            layers.append(nn.Linear(sizes[i], sizes[i + 1]))
            if i < len(sizes) - 2:
                layers.append(nn.Tanh())
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class OfflineTask:
    """Transitions of a point mass that has to reach its own goal."""

    def __init__(self, seed):
        rng = np.random.RandomState(seed)
        goal = rng.uniform(-1, 1, size=2).astype(np.float32)
        obs = rng.uniform(-1, 1, size=(400, 2)).astype(np.float32)
        noise = 0.3 * rng.randn(400, 2).astype(np.float32)
        act = np.clip(goal - obs + noise, -1, 1)
        ret = -np.linalg.norm(obs + act - goal, axis=1, keepdims=True).astype(np.float32)
        self.obs, self.act, self.ret = map(torch.from_numpy, (obs, act, ret))

    def sample(self, n):
        idx = torch.randint(0, len(self.obs), (n,))
        return self.obs[idx], self.act[idx], self.ret[idx]


def value_loss(vf, params, batch):
    obs, _, ret = batch
    return F.mse_loss(functional_call(vf, params, (obs,)), ret)


def policy_loss(policy, params, vf, vf_params, batch, temperature=0.3):
    obs, act, ret = batch
    with torch.no_grad():
        advantage = ret - functional_call(vf, vf_params, (obs,))
        weight = (advantage / temperature).exp().clamp(max=20.0)
    error = (functional_call(policy, params, (obs,)) - act).pow(2).sum(-1, keepdim=True)
    return (weight * error).mean()


def inner_step(loss, params, lr):
    grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
    return {k: p - lr * g for (k, p), g in zip(params.items(), grads)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iterations', type=int, default=60)
    parser.add_argument('--tasks-per-iter', type=int, default=5)
    parser.add_argument('--inner-lr', type=float, default=0.05)
    parser.add_argument('--outer-lr', type=float, default=3e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    tasks = [OfflineTask(seed) for seed in range(20)]
    policy = MLP([2, 64, 64, 2])
    vf = MLP([2, 64, 64, 1])
    policy_opt = torch.optim.Adam(policy.parameters(), lr=args.outer_lr)
    vf_opt = torch.optim.Adam(vf.parameters(), lr=args.outer_lr)

    for it in range(args.iterations):
        chosen = np.random.choice(len(tasks), args.tasks_per_iter, replace=False)
        meta_policy, meta_value = 0.0, 0.0
        for t in chosen:
            support, query = tasks[t].sample(64), tasks[t].sample(64)
            vf_params = dict(vf.named_parameters())
            vf_params = inner_step(value_loss(vf, vf_params, support), vf_params, args.inner_lr)
            outer_value = value_loss(vf, vf_params, query)
            (outer_value / args.tasks_per_iter).backward()

            params = dict(policy.named_parameters())
            fixed_vf = {k: v.detach() for k, v in vf_params.items()}
            params = inner_step(policy_loss(policy, params, vf, fixed_vf, support), params, args.inner_lr)
            outer_policy = policy_loss(policy, params, vf, fixed_vf, query)
            (outer_policy / args.tasks_per_iter).backward()
            meta_policy += outer_policy.item() / args.tasks_per_iter
            meta_value += outer_value.item() / args.tasks_per_iter

        if it % 10 == 0 or it == args.iterations - 1:
            print(f'iteration {it:3d}  policy {meta_policy:.4f}  value {meta_value:.4f}')


if __name__ == '__main__':
    main()
