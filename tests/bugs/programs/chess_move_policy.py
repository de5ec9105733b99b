import torch
import torch.nn as nn


class Model(nn.Module):
    """Move scores for chess positions: which square from, which square to."""

    def __init__(self, pieces=13, width=16, depth=2):
        super().__init__()
        self.embed = nn.Embedding(pieces, width)
        self.body = nn.Sequential()
        for i in range(depth):
            self.body.add_module(f"conv{i}", nn.Conv2d(width, width, 3, padding=1))
            self.body.add_module(f"act{i}", nn.ReLU())
        self.origin = nn.Conv2d(width, width, 1)
        self.goal = nn.Conv2d(width, width, 1)
        self.value = nn.Sequential(nn.Conv2d(width, 1, 8), nn.Flatten(0), nn.Tanh())

    def forward(self, board, moves, n_moves):
        x = self.embed(board).movedim(-1, 1)
        x = x + self.body(x)
        a, b = (f(x).flatten(2) for f in (self.origin, self.goal))
        scores = (a.mT @ b) / a.shape[1] ** 0.5
        flat = moves[..., 0] * 64 + moves[..., 1]
        real = torch.arange(moves.shape[1], device=moves.device) < n_moves[:, None]
        allowed = torch.zeros_like(scores.flatten(1), dtype=torch.bool)
        # padding moves are (0, 0): no piece stays where it is
        allowed = allowed.scatter(1, flat, real)
        logits = scores.flatten(1).masked_fill(~allowed, -1e4)
        pick = logits.log_softmax(1).gather(1, flat).argmax(1, keepdim=True)
        best = flat.gather(1, pick).squeeze(1)
        square = torch.stack((best // 64, best % 64), dim=1)
        return logits.unflatten(1, (64, 64)), square, self.value(x)


def example_inputs():
    moves = torch.stack([torch.randperm(63)[:24] + 1 for _ in range(4)])
    moves = torch.stack([moves, (moves + 5) % 64], -1)
    n = torch.tensor([24, 3, 17, 9])
    moves[torch.arange(24) >= n[:, None]] = 0
    return torch.randint(0, 13, (4, 8, 8)), moves, n
