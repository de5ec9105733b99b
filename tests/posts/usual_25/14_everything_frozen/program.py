import argparse
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import mobilenet_v3_small


def build_model(num_classes, pretrained_path=None):
    model = mobilenet_v3_small(weights=None)
    if pretrained_path:
        model.load_state_dict(torch.load(pretrained_path, map_location="cpu"))
    in_features = model.classifier[3].in_features
    model.classifier[3] = nn.Linear(in_features, num_classes)
    for param in model.parameters():
        param.requires_grad = False
    return model


def fake_xrays(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 2, (n,), generator=g)
    x = torch.randn(n, 3, 64, 64, generator=g) * 0.5
    x[y == 1, :, 20:44, 20:44] += 1.5
    return TensorDataset(x, y)


def accuracy(model, loader):
    model.eval()
    good = 0
    with torch.no_grad():
        for x, y in loader:
            good += (model(x).argmax(1) == y).sum().item()
    return good / len(loader.dataset)


def main(args):
    torch.manual_seed(args.seed)
    train_loader = DataLoader(fake_xrays(128, 0), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(fake_xrays(64, 1), batch_size=args.batch_size)

    model = build_model(2, args.pretrained)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.classifier[3].parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        model.features.eval()
        for x, y in train_loader:
            logits = model(x)
            loss = criterion(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"[{epoch + 1}/{args.epochs}] loss={loss.item():.4f} val_acc={accuracy(model, val_loader):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser("Pneumonia head training")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pretrained", type=str, default=None)
    main(parser.parse_args())
