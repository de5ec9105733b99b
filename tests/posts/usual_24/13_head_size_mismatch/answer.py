import argparse
import io

import timm
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    parser = argparse.ArgumentParser(description="Fine-tune on a new set of leaf diseases")
    parser.add_argument("--arch", default="resnet18")
    parser.add_argument("--source-classes", type=int, default=38)
    parser.add_argument("--num-classes", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-3)
    return parser.parse_args()


def source_checkpoint(args):
    """The weights of the model trained on the large leaf collection."""
    model = timm.create_model(args.arch, pretrained=False, num_classes=args.source_classes)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    return buffer


def build_model(args, checkpoint):
    state_dict = torch.load(checkpoint, map_location="cpu")
    model = timm.create_model(args.arch, pretrained=False, num_classes=args.num_classes)
    state_dict = {k: v for k, v in state_dict.items() if not k.startswith("fc.")}
    model.load_state_dict(state_dict, strict=False)
    return model


def main():
    args = parse_args()
    torch.manual_seed(0)
    model = build_model(args, source_checkpoint(args))

    labels = torch.randint(0, args.num_classes, (64,))
    images = torch.randn(64, 3, 64, 64) + labels.view(-1, 1, 1, 1) * 0.3
    loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)

    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        print(f"epoch {epoch + 1}/{args.epochs}: loss {total / len(labels):.4f}")


if __name__ == "__main__":
    main()
