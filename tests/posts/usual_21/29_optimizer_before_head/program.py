import timm
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(n=160, n_classes=3):
    g = torch.Generator().manual_seed(0)
    y = torch.randint(0, n_classes, (n,), generator=g)
    x = 0.3 * torch.randn(n, 3, 32, 32, generator=g)
    for i, k in enumerate(y.tolist()):
        x[i, k] += 1.0
    return TensorDataset(x, y)


class Finetuner:
    def __init__(self, arch="resnet18", n_classes=3, lr=1e-3, epochs=3):
        self.epochs = epochs
        self.model = timm.create_model(arch, pretrained=False)
        for name, p in self.model.named_parameters():
            if not name.startswith(("layer4", "fc")):
                p.requires_grad = False
        self.optimizer = torch.optim.AdamW(
            [p for p in self.model.parameters() if p.requires_grad], lr=lr
        )
        self.model.fc = nn.Linear(self.model.num_features, n_classes)
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, train_loader, val_loader):
        for epoch in range(self.epochs):
            self.model.train()
            running = 0.0
            for x, y in train_loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                running += loss.item()
            acc = self.evaluate(val_loader)
            print(f"epoch {epoch}: loss {running / len(train_loader):.4f} val acc {acc:.3f}")

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        correct = total = 0
        for x, y in loader:
            correct += (self.model(x).argmax(1) == y).sum().item()
            total += len(y)
        return correct / total


if __name__ == "__main__":
    torch.manual_seed(0)
    train_set, val_set = torch.utils.data.random_split(make_data(), [128, 32])
    finetuner = Finetuner()
    head_before = finetuner.model.fc.weight.clone()
    finetuner.fit(DataLoader(train_set, batch_size=16, shuffle=True), DataLoader(val_set, batch_size=32))
    change = (finetuner.model.fc.weight - head_before).abs().max().item()
    print(f"largest change of the head: {change:.5f}")
