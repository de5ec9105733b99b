import argparse
import contextlib

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def get_args(argv=None):
    ap = argparse.ArgumentParser(description="plankton classifier with rejection of unknown species")
    ap.add_argument("--species", type=int, default=6)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--no-amp", dest="amp", action="store_false")
    ap.add_argument("--reject", type=float, default=0.05, help="share of the validation images that may be rejected")
    return ap.parse_args(argv)


def amp_context(enabled):
    return torch.autocast("cpu", dtype=torch.bfloat16) if enabled else contextlib.nullcontext()


def silhouettes(n, kinds, gen, first=0, size=28):
    """ellipse with a number of arms that depends on the species"""
    y = torch.randint(0, kinds, (n,), generator=gen)
    grid = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    theta, radius = torch.atan2(yy, xx), (xx ** 2 + yy ** 2).sqrt()
    arms = (y + first + 2).view(-1, 1, 1)
    rot = torch.rand(n, 1, 1, generator=gen) * 6.28
    edge = 0.55 + 0.25 * torch.cos(arms * (theta + rot))
    img = torch.sigmoid((edge - radius) * 15) + 0.1 * torch.randn(n, size, size, generator=gen)
    return img.unsqueeze(1), y


class PlanktonNet(nn.Module):
    def __init__(self, n_species):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(24, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(48, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveMaxPool2d(2),
        )
        self.fc = nn.Linear(256, n_species)

    def forward(self, x):
        return self.fc(self.body(x).flatten(1))


def train(model, loader, args):
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=args.lr * 2, total_steps=args.epochs * len(loader))
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            with amp_context(args.amp):
                logits = model(x)
                loss = loss_fn(logits, y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


@torch.inference_mode()
def max_scores(model, x, amp):
    model.eval()
    scores, preds = [], []
    for chunk in x.split(128):
        with amp_context(amp):
            s, p = model(chunk).max(dim=1)
        scores.append(s)
        preds.append(p)
    return torch.cat(scores), torch.cat(preds)


def fit_threshold(scores, share):
    return torch.quantile(scores, share).item()


def main():
    args = get_args()
    torch.manual_seed(21)
    gen = torch.Generator().manual_seed(21)
    train_x, train_y = silhouettes(960, args.species, gen)
    val_x, val_y = silhouettes(256, args.species, gen)
    new_x = 0.4 + 0.1 * torch.randn(128, 1, 28, 28, generator=gen)  # murky water, no animal
    loader = DataLoader(TensorDataset(train_x, train_y), batch_size=48, shuffle=True)

    model = PlanktonNet(args.species)
    train(model, loader, args)
    scores, preds = max_scores(model, val_x, args.amp)
    threshold = fit_threshold(scores, args.reject)
    unknown, _ = max_scores(model, new_x, args.amp)
    print(f"val acc {(preds == val_y).float().mean():.3f}  threshold {threshold:.2f}  "
          f"unknown rejected {(unknown < threshold).float().mean():.2f}")


if __name__ == "__main__":
    main()
