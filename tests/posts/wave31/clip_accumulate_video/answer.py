import argparse
import time

import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser(description="Gated shift network on short clips")
parser.add_argument("--num_segments", type=int, default=8)
parser.add_argument("--batch_size", type=int, default=8)
parser.add_argument("--iter_size", type=int, default=4, help="mini batches per update")
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--clip_gradient", type=float, default=0.5)
parser.add_argument("--print_freq", type=int, default=4)


class MotionClips(Dataset):
    """A bright square moving in one of four directions."""

    def __init__(self, n, segments):
        self.n, self.segments = n, segments

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        label = i % 4
        dx, dy = [(1, 0), (-1, 0), (0, 1), (0, -1)][label]
        x, y = torch.randint(10, 16, (2,), generator=g).tolist()
        clip = 0.3 * torch.randn(self.segments, 3, 32, 32, generator=g)
        for t in range(self.segments):
            top, left = y + dy * t, x + dx * t
            clip[t, :, top:top + 6, left:left + 6] += 2.0
        return clip, label


class GatedShift(nn.Module):
    def __init__(self, channels, segments):
        super().__init__()
        self.segments = segments
        self.gate = nn.Conv3d(channels, 2, 3, padding=1, groups=2)

    def forward(self, x):
        n, c, h, w = x.shape
        x = x.view(n // self.segments, self.segments, c, h, w).transpose(1, 2)
        gate = torch.tanh(self.gate(x))
        a, b = x.chunk(2, dim=1)
        ga, gb = gate[:, :1] * a, gate[:, 1:] * b
        forward = torch.cat([torch.zeros_like(ga[:, :, :1]), ga[:, :, :-1]], dim=2)
        backward = torch.cat([gb[:, :, 1:], torch.zeros_like(gb[:, :, :1])], dim=2)
        x = torch.cat([a - ga + forward, b - gb + backward], dim=1)
        return x.transpose(1, 2).reshape(n, c, h, w)


class VideoModel(nn.Module):
    def __init__(self, num_class, segments):
        super().__init__()
        self.segments = segments
        self.base = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), GatedShift(16, segments),
            nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), GatedShift(32, segments),
            nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.Flatten())
        self.fc = nn.Linear(64 * 16, num_class)

    def forward(self, clips):
        b = clips.size(0)
        x = self.fc(self.base(clips.flatten(0, 1)))
        return x.view(b, self.segments, -1).mean(1)


def train(train_loader, model, criterion, optimizer, epoch, args):
    model.train()
    end = time.time()
    loss_summ, updates = 0.0, 0
    optimizer.zero_grad()
    for i, (clips, target) in enumerate(train_loader):
        output = model(clips)
        loss = criterion(output, target) / args.iter_size
        loss_summ += loss.item()
        loss.backward()

        if args.clip_gradient is not None and (i + 1) % args.iter_size == 0:
            total_norm = clip_grad_norm_(model.parameters(), args.clip_gradient)

        if (i + 1) % args.iter_size == 0:
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
            if updates % args.print_freq == 0:
                acc = (output.argmax(1) == target).float().mean().item() * 100
                print("Epoch: [%d][%d/%d] time %.2f loss %.4f grad norm %.3f prec@1 %.1f" % (
                    epoch, i + 1, len(train_loader), time.time() - end, loss_summ, total_norm, acc))
            loss_summ = 0.0


def validate(loader, model):
    model.eval()
    with torch.no_grad():
        hits = torch.cat([model(clips).argmax(1) == target for clips, target in loader])
    print("Testing results: prec@1 %.2f" % (100 * hits.float().mean().item()))


def main():
    args = parser.parse_args()
    torch.manual_seed(0)
    model = VideoModel(4, args.num_segments)
    train_loader = DataLoader(MotionClips(256, args.num_segments), args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(MotionClips(320, args.num_segments), args.batch_size)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=5e-4)
    for epoch in range(args.epochs):
        train(train_loader, model, criterion, optimizer, epoch, args)
    validate(val_loader, model)


if __name__ == "__main__":
    main()
