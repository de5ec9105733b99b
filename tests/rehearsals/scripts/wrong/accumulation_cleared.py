import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Molecules(Dataset):
    """Fingerprints of molecules with their solubility."""

    def __init__(self, n=96, bits=64):
        rng = np.random.default_rng(9)
        self.bits = (rng.random((n, bits)) < 0.2).astype(np.float32)
        self.solubility = (self.bits @ rng.normal(size=bits)).astype(np.float32)

    def __len__(self):
        return len(self.bits)

    def __getitem__(self, i):
        return self.bits[i], self.solubility[i:i + 1]


class Net(nn.Module):
    def __init__(self, bits=64):
        super().__init__()
        self.fc1 = nn.Linear(bits, 48)
        self.norm = nn.LayerNorm(48)
        self.fc2 = nn.Linear(48, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.norm(self.fc1(x))))


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--micro-batch", type=int, default=8)
    parser.add_argument("--accumulation-steps", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-2)
    return parser.parse_args()


def main():
    args = get_args()
    torch.manual_seed(0)
    loader = DataLoader(Molecules(), batch_size=args.micro_batch, shuffle=True)
    model = Net()
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        running = 0.0
        for step, (bits, solubility) in enumerate(loader):
            optimizer.zero_grad()
            loss = criterion(model(bits), solubility) / args.accumulation_steps
            loss.backward()
            if (step + 1) % args.accumulation_steps == 0:
                optimizer.step()
            running += loss.item() * args.accumulation_steps
        print(f"epoch {epoch} loss {running / len(loader):.4f}")


if __name__ == "__main__":
    main()
