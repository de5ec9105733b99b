"""Two-stage fine-tuning with mixed precision: warm up the head, then unfreeze the backbone."""
import torch
import torch.nn as nn
import torchvision
from torch.utils.data import DataLoader, Dataset

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
AMP_DTYPE = torch.float16 if DEVICE == "cuda" else torch.bfloat16
WARMUP_EPOCHS, TOTAL_EPOCHS = 1, 3


class Parcels(Dataset):
    """48x48 pictures of a box seen from three sides, with one of six shipping labels."""

    palette = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1.0]])

    def __init__(self, n, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(6, (n,), generator=self.gen)
        self.pos = torch.randint(4, 30, (n, 2), generator=self.gen)
        self.noise = 0.2 * torch.randn(n, 3, 48, 48, generator=self.gen)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.noise[i].clone()
        r, c = self.pos[i].tolist()
        img[:, r:r + 14, c:c + 14] += self.palette[self.labels[i]][:, None, None]
        return img, self.labels[i]


def build():
    net = torchvision.models.resnet18(weights=None)
    net.fc = nn.Sequential(nn.Dropout(0.1), nn.Linear(net.fc.in_features, 6))
    return net.to(DEVICE)


def backbone_parameters(net):
    return [p for name, p in net.named_parameters() if not name.startswith("fc.")]


def set_backbone(net, trainable):
    for p in backbone_parameters(net):
        p.requires_grad_(trainable)


@torch.no_grad()
def accuracy(net, loader):
    net.eval()
    right = 0
    for x, y in loader:
        right += (net(x.to(DEVICE)).argmax(1).cpu() == y).sum().item()
    return right / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(Parcels(384, 0), batch_size=16, shuffle=True)
    val_loader = DataLoader(Parcels(64, 1), batch_size=64)

    net = build()
    opt_head = torch.optim.AdamW(net.fc.parameters(), lr=1e-3)
    opt_backbone = torch.optim.AdamW(backbone_parameters(net), lr=1e-4)
    scaler = torch.amp.GradScaler(DEVICE)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(TOTAL_EPOCHS):
        set_backbone(net, trainable=epoch >= WARMUP_EPOCHS)
        net.train()
        running = 0.0
        for x, y in train_loader:
            x, y = x.to(DEVICE, non_blocking=True), y.to(DEVICE, non_blocking=True)
            with torch.autocast(DEVICE, dtype=AMP_DTYPE):
                loss = criterion(net(x), y)
            opt_head.zero_grad(set_to_none=True)
            opt_backbone.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.step(opt_head)
            scaler.step(opt_backbone)
            scaler.update()
            running += loss.item()
        print(f"epoch {epoch} loss {running / len(train_loader):.3f} val acc {accuracy(net, val_loader):.3f}")


if __name__ == "__main__":
    main()
