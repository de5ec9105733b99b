import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def get_args():
    ap = argparse.ArgumentParser(description="fine-tune a small backbone")
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--unfreeze-epoch", type=int, default=2)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--bs", type=int, default=25)
    return ap.parse_args()


def textures(n=210, size=16):
    gen = torch.Generator().manual_seed(5)
    label = torch.randint(0, 3, (n,), generator=gen)
    grid = torch.arange(size).float()
    imgs = torch.zeros(n, 1, size, size)
    for i, c in enumerate(label.tolist()):
        wave = torch.sin(grid * (0.5 + 0.5 * c))
        imgs[i, 0] = wave[None, :] if c % 2 else wave[:, None]
    imgs += 0.2 * torch.randn(imgs.shape, generator=gen)
    return TensorDataset(imgs, label)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag


def run_epoch(model, loader, loss_fn, optimizer=None):
    training = optimizer is not None
    model.train(training)
    seen, correct, loss_sum = 0, 0, 0.0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            logits = model(x)
            loss = loss_fn(logits, y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * y.size(0)
            correct += (logits.argmax(1) == y).sum().item()
            seen += y.size(0)
    return loss_sum / seen, correct / seen


def main():
    args = get_args()
    torch.manual_seed(1)
    train_set, val_set = random_split(textures(), [170, 40])
    train_loader = DataLoader(train_set, batch_size=args.bs, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.bs)

    model = Net()
    set_trainable(model.backbone, False)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    best = 0.0
    for epoch in range(args.epochs):
        if epoch == args.unfreeze_epoch:
            print("unfreezing the backbone")
            set_trainable(model.backbone, True)
            optimizer.add_param_group({"params": model.backbone.parameters(), "lr": args.lr / 10})
        tr_loss, tr_acc = run_epoch(model, train_loader, loss_fn, optimizer)
        va_loss, va_acc = run_epoch(model, val_loader, loss_fn)
        if va_acc > best:
            best = va_acc
            torch.save(model.state_dict(), "best.pth")
        print(f"{epoch:02d} train {tr_loss:.4f}/{tr_acc:.3f} val {va_loss:.4f}/{va_acc:.3f}")


if __name__ == "__main__":
    main()
