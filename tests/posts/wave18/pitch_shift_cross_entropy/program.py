import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __init__(self, n=1024, bins=48, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.f0 = torch.randint(4, 24, (n,), generator=g)
        grid = torch.arange(bins).float()
        spec = torch.zeros(n, bins)
        for k, amp in zip((0, 12, 19), (1.0, 0.6, 0.4)):
            spec += amp * torch.exp(-(grid - (self.f0[:, None] + k)) ** 2 / 2)
        self.spec = spec + 0.05 * torch.rand(n, bins, generator=g)

    def __len__(self):
        return len(self.spec)

    def __getitem__(self, i):
        return self.spec[i], self.f0[i]


class PitchEncoder(nn.Module):
    def __init__(self, bins=48, ch=16):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, ch, 15, padding=7), nn.LeakyReLU(0.3),
                                  nn.Conv1d(ch, ch, 15, padding=7), nn.LeakyReLU(0.3),
                                  nn.Conv1d(ch, 1, 1))
        self.fc = nn.Linear(bins, bins, bias=False)

    def forward(self, x):
        x = self.conv(x.unsqueeze(1)).squeeze(1)
        return self.fc(x).softmax(dim=-1)


class ShiftCrossEntropy(nn.Module):
    def __init__(self, pad_length=5):
        super().__init__()
        self.criterion = nn.CrossEntropyLoss()
        self.pad_length = pad_length

    def forward(self, x1, x2, shift):
        x1 = F.pad(x1, (self.pad_length, self.pad_length))
        x2 = F.pad(x2, (2 * self.pad_length, 2 * self.pad_length))
        idx = shift.unsqueeze(1) + torch.arange(x1.size(-1)) + self.pad_length
        shifted = x2.gather(1, idx)
        return self.criterion(x1, shifted.detach())


def entropy(p):
    return -(p * (p + 1e-9).log()).sum(-1).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=6)
    parser.add_argument('--max_shift', type=int, default=5)
    parser.add_argument('--lr', type=float, default=2e-3)
    args = parser.parse_args()
    torch.manual_seed(0)

    loader = DataLoader(Frames(), batch_size=64, shuffle=True, drop_last=True)
    encoder = PitchEncoder()
    criterion = ShiftCrossEntropy(args.max_shift)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        total, ent = 0.0, 0.0
        for spec, f0 in loader:
            shift = torch.randint(-args.max_shift, args.max_shift + 1, (len(spec),))
            index = (torch.arange(spec.size(1)) - shift.unsqueeze(1)).clamp(0, spec.size(1) - 1)
            moved = spec.gather(1, index)
            p1, p2 = encoder(spec), encoder(moved)
            loss = criterion(p1, p2, shift)
            gain = 0.5 + torch.rand(len(spec), 1)
            loss = loss + F.mse_loss(encoder(spec * gain), p1.detach())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            ent += entropy(p1.detach()).item()
        print(f'epoch {epoch} loss {total / len(loader):.4f} entropy {ent / len(loader):.3f}')


if __name__ == '__main__':
    main()
