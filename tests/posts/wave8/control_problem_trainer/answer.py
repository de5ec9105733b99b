from copy import deepcopy

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class DictDataset(Dataset):
    def __init__(self, datadict, name='train'):
        self.datadict, self.name = datadict, name

    def __getitem__(self, i):
        return {k: v[i] for k, v in self.datadict.items()}

    def __len__(self):
        return len(next(iter(self.datadict.values())))

    def collate_fn(self, batch):
        out = {k: torch.stack([b[k] for b in batch]) for k in self.datadict}
        out['name'] = self.name
        return out


class ClosedLoop(nn.Module):
    """policy and linear plant, unrolled over the horizon"""

    def __init__(self, nx=2, nu=1, nsteps=30, hidden=20):
        super().__init__()
        self.nsteps = nsteps
        self.policy = nn.Sequential(nn.Linear(nx, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(),
                                    nn.Linear(hidden, nu))
        self.register_buffer('A', torch.tensor([[1.2, 1.0], [0.0, 1.0]]))
        self.register_buffer('B', torch.tensor([[1.0], [0.5]]))

    def forward(self, data):
        x, xs, us = data['X'], [data['X']], []
        for _ in range(self.nsteps):
            u = self.policy(x)
            x = x @ self.A.T + u @ self.B.T
            xs.append(x)
            us.append(u)
        return {'X': torch.stack(xs, 1), 'U': torch.stack(us, 1)}


class Problem(nn.Module):
    """adds the penalties up: {name}_loss of the batch and all the intermediate variables"""

    def __init__(self, system, action_weight=0.1):
        super().__init__()
        self.system, self.action_weight = system, action_weight
        self.grad_inference = False

    def forward(self, data):
        out = self.system(data)
        state = out['X'].clamp(-100, 100).square().mean()
        action = self.action_weight * out['U'].square().mean()
        bound = torch.relu(out['U'].abs() - 1).mean()
        return {**{'%s_%s' % (data['name'], k): v for k, v in out.items()},
                data['name'] + '_loss': state + action + bound}


class Trainer:
    def __init__(self, problem, train_data, dev_data, optimizer, epochs=5, patience=5, warmup=0, clip=100.0,
                 train_metric='train_loss', dev_metric='dev_loss', eval_metric='mean_dev_loss'):
        self.model, self.train_data, self.dev_data, self.optimizer = problem, train_data, dev_data, optimizer
        self.epochs, self.patience, self.warmup, self.clip = epochs, patience, warmup, clip
        self.train_metric, self.dev_metric, self.eval_metric = train_metric, dev_metric, eval_metric
        self.best_devloss = np.finfo(np.float32).max
        self.best_model = deepcopy(self.model.state_dict())
        self.badcount = 0
        self.history = []

    def train(self):
        for i in range(self.epochs):
            self.model.train()
            losses = []
            for t_batch in self.train_data:
                t_batch['epoch'] = i
                output = self.model(t_batch)
                self.optimizer.zero_grad()
                output[self.train_metric].backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
                self.optimizer.step()
                losses.append(output[self.train_metric].detach())
            output['mean_' + self.train_metric] = torch.mean(torch.stack(losses))

            with torch.set_grad_enabled(self.model.grad_inference):
                self.model.eval()
                losses = []
                for d_batch in self.dev_data:
                    eval_output = self.model(d_batch)
                    losses.append(eval_output[self.dev_metric].detach())
                eval_output['mean_' + self.dev_metric] = torch.mean(torch.stack(losses))
                output = {**output, **eval_output}
                if output[self.eval_metric] < self.best_devloss:
                    self.best_model = deepcopy(self.model.state_dict())
                    self.best_devloss = output[self.eval_metric]
                    self.badcount = 0
                elif i > self.warmup:
                    self.badcount += 1
                self.history.append({k: v for k, v in output.items() if k.startswith('mean_')})
                print('epoch: %d  train_loss: %.4f' % (i, output['mean_' + self.train_metric]))
                if self.badcount > self.patience:
                    print('Early stopping!!!')
                    break
        self.model.load_state_dict(self.best_model)
        return self.best_model


if __name__ == '__main__':
    torch.manual_seed(0)
    train_set = DictDataset({'X': 3 * torch.randn(120, 2)}, 'train')
    dev_set = DictDataset({'X': 3 * torch.randn(60, 2)}, 'dev')
    train_loader = DataLoader(train_set, batch_size=30, shuffle=True, collate_fn=train_set.collate_fn)
    dev_loader = DataLoader(dev_set, batch_size=30, collate_fn=dev_set.collate_fn)
    problem = Problem(ClosedLoop())
    optimizer = torch.optim.AdamW(problem.parameters(), lr=0.001)
    trainer = Trainer(problem, train_loader, dev_loader, optimizer, epochs=3)
    trainer.train()
