import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import resnet18

torch.manual_seed(0)


def make_images(n):
    """Weld seams: ok, crack, pore."""
    y = torch.randint(0, 3, (n,))
    x = 0.2 * torch.randn(n, 3, 32, 32)
    x[:, :, 14:18] += 1.0
    for i in range(n):
        c = int(torch.randint(4, 26, (1,)))
        if y[i] == 1:
            x[i, :, 12:20, c] -= 2.0
        elif y[i] == 2:
            x[i, :, 14:18, c:c + 4] -= 1.5
    return x, y


class FineTuner:
    STAGES = [(1, "layer4"), (2, "layer3")]

    def __init__(self, base_lr=3e-3):
        self.model = resnet18(weights=None)
        self.model.fc = nn.Linear(self.model.fc.in_features, 3)
        self.base_lr = base_lr
        for p in self.model.parameters():
            p.requires_grad = False
        for p in self.model.fc.parameters():
            p.requires_grad = True
        self.optimizer = optim.AdamW(filter(lambda p: p.requires_grad, self.model.parameters()), lr=base_lr)
        self.criterion = nn.CrossEntropyLoss()

    def unfreeze(self, epoch):
        """Open one more block at the given epochs, each with a lower learning rate."""
        for start, name in self.STAGES:
            if start != epoch:
                continue
            block = getattr(self.model, name)
            for p in block.parameters():
                p.requires_grad = True
            lr = self.base_lr / (3 ** start)
            self.optimizer.add_param_group({"params": list(block.parameters()), "lr": lr})
            print(f"epoch {epoch}: unfroze {name} with lr {lr:.1e}")

    def train_epoch(self, loader):
        self.model.train()
        total, seen = 0.0, 0
        for x, y in loader:
            loss = self.criterion(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
            seen += len(y)
        return total / seen

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in loader)
        return hits / len(loader.dataset)


def main():
    train_loader = DataLoader(TensorDataset(*make_images(384)), batch_size=16, shuffle=True)
    val_loader = DataLoader(TensorDataset(*make_images(96)), batch_size=48)
    tuner = FineTuner()
    for epoch in range(5):
        tuner.unfreeze(epoch)
        loss = tuner.train_epoch(train_loader)
        acc = tuner.evaluate(val_loader)
        lrs = [f"{g['lr']:.1e}" for g in tuner.optimizer.param_groups]
        print(f"epoch {epoch}  loss {loss:.3f}  val acc {acc:.3f}  lrs {lrs}")


if __name__ == "__main__":
    main()
