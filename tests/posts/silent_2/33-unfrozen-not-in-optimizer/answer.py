import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )

    def forward(self, x):
        return self.layers(x)


class TransferNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag


def make_data(n):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 3, 24, 24) * 0.5
    for i, c in enumerate(y.tolist()):
        x[i, :, (c // 2) * 12:(c // 2) * 12 + 12:2, (c % 2)::2] += 0.7
    return TensorDataset(x, y)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(make_data(320), batch_size=32, shuffle=True)
    val_loader = DataLoader(make_data(80), batch_size=40)

    model = TransferNet(4).to(device)
    set_trainable(model.backbone, False)
    optimizer = torch.optim.Adam(
        filter(lambda p: p.requires_grad, model.parameters()), lr=3e-3
    )
    criterion = nn.CrossEntropyLoss()
    before = model.backbone.layers[0].weight.detach().clone()

    for epoch in range(6):
        if epoch == 2:
            set_trainable(model.backbone, True)
            optimizer.add_param_group({"params": model.backbone.parameters()})
            print("fine-tuning the whole network")
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        model.eval()
        hits = 0
        with torch.no_grad():
            for x, y in val_loader:
                hits += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        moved = (model.backbone.layers[0].weight.detach() - before).abs().max().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {hits / 80:.3f} moved {moved:.5f}")


if __name__ == "__main__":
    main()
