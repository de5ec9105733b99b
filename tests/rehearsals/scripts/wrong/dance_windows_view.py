import argparse
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

JOINTS, FRAMES, MOVES = 15, 20, 5


class Clips(Dataset):
    """Skeletons over time; each frame has a label, the move that is danced."""

    def __init__(self, count, seed):
        generator = random.Random(seed)
        self.items = []
        for _ in range(count):
            start = generator.random() * math.pi
            frames, moves = [], []
            for t in range(FRAMES):
                move = (t // 4 + int(start)) % MOVES
                frames.append([math.sin(start + t * (move + 1) + j) for j in range(JOINTS * 2)])
                moves.append(move)
            self.items.append((frames, moves))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        frames, moves = self.items[i]
        return torch.tensor(frames), torch.tensor(moves)


class MoveNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.conv = nn.Conv1d(JOINTS * 2, width, 5, padding=2)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, MOVES)

    def forward(self, x):
        x = F.gelu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        x, _ = self.gru(x)
        return self.head(x.reshape(-1, x.size(-1)))


def train_epoch(model, loader, optimizer, args):
    model.train()
    for step, (frames, moves) in enumerate(loader):
        optimizer.zero_grad()
        logits = model(frames).view(args.batch_size, FRAMES, MOVES)
        loss = F.cross_entropy(logits.transpose(1, 2), moves)
        loss.backward()
        optimizer.step()
        if step % args.log_interval == 0:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="dance moves")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--log-interval", type=int, default=5)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    loader = DataLoader(Clips(60, args.seed), batch_size=args.batch_size, shuffle=True)
    model = MoveNet()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        train_epoch(model, loader, optimizer, args)
    torch.save({"model": model.state_dict(), "args": vars(args)}, "moves.pt")
