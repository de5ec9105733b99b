import logging
from argparse import ArgumentParser

import numpy as np
import torch
import torch.nn as nn
from torch.optim import Adam
from torch.optim.lr_scheduler import ExponentialLR


class GraphEncoder(nn.Module):
    """Message passing over padded atom graphs, mean readout."""

    def __init__(self, atom_fdim, hidden_size, depth):
        super().__init__()
        self.depth = depth
        self.W_i = nn.Linear(atom_fdim, hidden_size, bias=False)
        self.W_h = nn.Linear(hidden_size, hidden_size, bias=False)
        self.W_o = nn.Linear(atom_fdim + hidden_size, hidden_size)

    def forward(self, atoms, adj):
        inp = self.W_i(atoms)
        message = torch.relu(inp)
        for _ in range(self.depth - 1):
            message = torch.relu(inp + self.W_h(torch.bmm(adj, message)))
        hidden = torch.relu(self.W_o(torch.cat([atoms, torch.bmm(adj, message)], dim=2)))
        return hidden.mean(dim=1)


class PropertyModel(nn.Module):
    def __init__(self, args, num_tasks):
        super().__init__()
        self.encoder = GraphEncoder(args.atom_fdim, args.hidden_size, args.depth)
        self.ffn = nn.Sequential(
            nn.Dropout(args.dropout),
            nn.Linear(args.hidden_size, args.hidden_size),
            nn.ReLU(),
            nn.Linear(args.hidden_size, num_tasks),
        )

    def forward(self, atoms, adj):
        return self.ffn(self.encoder(atoms, adj))


def make_molecules(n, args, rng):
    atoms = rng.standard_normal((n, args.max_atoms, args.atom_fdim)).astype(np.float32)
    adj = (rng.random((n, args.max_atoms, args.max_atoms)) < 0.15).astype(np.float32)
    adj = np.maximum(adj, adj.transpose(0, 2, 1))
    targets = np.stack([atoms[:, :, 0].sum(1), adj.sum((1, 2)) / 20 - 2], axis=1).astype(np.float32)
    mask = (rng.random(targets.shape) > 0.1).astype(np.float32)
    return [torch.from_numpy(a) for a in (atoms, adj, targets, mask)]


def train(model, data, loss_func, optimizer, scheduler, args, n_iter, logger):
    model.train()
    atoms, adj, targets, mask = data
    order = torch.randperm(len(atoms))
    loss_sum, iter_count = 0, 0
    for start in range(0, len(order), args.batch_size):
        idx = order[start:start + args.batch_size]
        model.zero_grad()
        preds = model(atoms[idx], adj[idx])
        loss = loss_func(preds, targets[idx]) * mask[idx]
        loss = loss.sum() / mask[idx].sum()
        loss_sum += loss.item()
        iter_count += 1
        loss.backward()
        optimizer.step()
        n_iter += len(idx)
        if (n_iter // args.batch_size) % args.log_frequency == 0:
            loss_avg = loss_sum / iter_count
            loss_sum, iter_count = 0, 0
            logger.info(f'Loss = {loss_avg:.4e}, lr = {scheduler.get_last_lr()[0]:.2e}')
    scheduler.step()
    return n_iter


@torch.no_grad()
def evaluate(model, data, loss_func):
    model.eval()
    atoms, adj, targets, mask = data
    loss = loss_func(model(atoms, adj), targets) * mask
    return (loss.sum() / mask.sum()).item()


def main():
    parser = ArgumentParser()
    parser.add_argument('--epochs', type=int, default=4)
    parser.add_argument('--batch_size', type=int, default=50)
    parser.add_argument('--hidden_size', type=int, default=64)
    parser.add_argument('--depth', type=int, default=3)
    parser.add_argument('--dropout', type=float, default=0.0)
    parser.add_argument('--atom_fdim', type=int, default=12)
    parser.add_argument('--max_atoms', type=int, default=14)
    parser.add_argument('--log_frequency', type=int, default=4)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format='%(message)s')
    logger = logging.getLogger('train')

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    train_data, val_data = make_molecules(400, args, rng), make_molecules(100, args, rng)
    model = PropertyModel(args, num_tasks=train_data[2].shape[1])
    loss_func = nn.MSELoss(reduction='none')
    optimizer = Adam(model.parameters(), lr=1e-3)
    scheduler = ExponentialLR(optimizer, gamma=0.95)
    n_iter = 0
    for epoch in range(args.epochs):
        n_iter = train(model, train_data, loss_func, optimizer, scheduler, args, n_iter, logger)
        logger.info(f'Epoch {epoch} validation mse = {evaluate(model, val_data, loss_func):.4e}')


if __name__ == '__main__':
    main()
