import argparse
from collections import OrderedDict

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class ResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv1 = nn.Conv2d(dim, dim, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(dim)
        self.conv2 = nn.Conv2d(dim, dim, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(dim)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


class PolicyValueNet(nn.Module):
    def __init__(self, planes, board, dim=24, blocks=2):
        super().__init__()
        self.init_conv = nn.Sequential(nn.Conv2d(planes, dim, 3, padding=1), nn.BatchNorm2d(dim), nn.ReLU())
        self.resnet = nn.Sequential(*[ResBlock(dim) for _ in range(blocks)])
        self.pi_head = nn.Sequential(nn.Conv2d(dim, 2, 1), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten())
        self.pi = nn.Linear(2 * board * board, board * board)
        self.v_head = nn.Sequential(nn.Conv2d(dim, 1, 1), nn.BatchNorm2d(1), nn.ReLU(), nn.Flatten())
        self.v = nn.Linear(board * board, 1)

    def forward(self, s):
        h = self.resnet(self.init_conv(s))
        return OrderedDict(logpi=F.log_softmax(self.pi(self.pi_head(h)), dim=1),
                           V=torch.tanh(self.v(self.v_head(h))).squeeze(1))


class PositionSource:
    """Board positions: the best reply sits next to the last stone, the value is the stone lead."""

    def __init__(self, board, seed):
        self.board, self.rng = board, np.random.default_rng(seed)

    def batch(self, n):
        b = self.board
        s = np.zeros((n, 3, b, b), dtype=np.float32)
        moves = np.zeros(n, dtype=np.int64)
        value = np.zeros(n, dtype=np.float32)
        for i in range(n):
            black, white = self.rng.integers(2, 16, size=2)
            cells = self.rng.permutation(b * b)[:black + white]
            s[i, 0].flat[cells[:black]] = 1
            s[i, 1].flat[cells[black:]] = 1
            last = cells[-1]
            s[i, 2].flat[last] = 1
            row, col = divmod(int(last), b)
            moves[i] = row * b + (col + 1) % b
            value[i] = (black - white) / 13
        return torch.from_numpy(s), torch.from_numpy(moves), torch.from_numpy(value)


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optim = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)

    def update(self, s, a, z):
        self.model.train()
        reply = self.model(s)
        loss = F.nll_loss(reply['logpi'], a) + F.mse_loss(reply['V'], z)
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        return loss.item()


class Evaluator:
    def __init__(self, model, name='eval'):
        self.model = model
        self.name = name

    def actor(self, s):
        with torch.no_grad():
            reply = self.model(s)
        return reply['logpi'].argmax(dim=1), reply['V']

    def run(self, games, source):
        self.model.eval()
        hits, moves_seen, v_err = 0, 0, 0.0
        for game in range(games):
            for turn in range(12):
                s, a, z = source.batch(1)
                move, v = self.actor(s)
                hits += int(move.item() == a.item())
                v_err += (v - z).abs().item()
                moves_seen += 1
        return hits / moves_seen, v_err / moves_seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--board', type=int, default=7)
    parser.add_argument('--iters', type=int, default=150)
    parser.add_argument('--batchsize', type=int, default=64)
    parser.add_argument('--games', type=int, default=15)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = PolicyValueNet(3, args.board)
    trainer = Trainer(model, lr=0.05)
    source = PositionSource(args.board, seed=0)
    for it in range(args.iters):
        s, a, z = source.batch(args.batchsize)
        loss = trainer.update(s, a, z)
        if it % 50 == 49:
            print(f'iter {it + 1}: loss {loss:.3f}')
    evaluator = Evaluator(model)
    hit, err = evaluator.run(args.games, PositionSource(args.board, seed=1))
    print(f'{evaluator.name}: best-reply rate {hit:.3f}, value error {err:.3f}')


if __name__ == '__main__':
    main()
