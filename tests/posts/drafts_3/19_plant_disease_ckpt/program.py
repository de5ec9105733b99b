import argparse
import os

import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

CLASSES = ["healthy", "rust", "blight", "mildew"]
TINTS = [(40, 160, 40), (160, 90, 40), (60, 60, 50), (190, 190, 190)]

normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
train_tf = transforms.Compose([
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    normalize,
])
test_tf = transforms.Compose([transforms.Resize((64, 64)), transforms.ToTensor(), normalize])


def leaf_image(label, size=64):
    noise = torch.randint(-40, 41, (size, size, 3))
    pixels = (torch.tensor(TINTS[label]) + noise).clamp(0, 255).to(torch.uint8)
    return Image.fromarray(pixels.numpy())


class LeafDataset(Dataset):
    def __init__(self, n, transform):
        self.samples = [(leaf_image(i % len(CLASSES)), i % len(CLASSES)) for i in range(n)]
        self.transform = transform

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        image, label = self.samples[idx]
        return self.transform(image), label


def build_model(num_classes=1000):
    model = models.shufflenet_v2_x0_5(weights=None)
    in_features = model.fc.in_features
    model.fc = nn.Linear(in_features, num_classes)
    return model


def train(args):
    loader = DataLoader(LeafDataset(96, train_tf), batch_size=args.batch_size, shuffle=True)
    model = build_model(len(CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(args.epochs):
        correct = 0
        for images, labels in loader:
            optimizer.zero_grad()
            logits = model(images)
            criterion(logits, labels).backward()
            optimizer.step()
            correct += (logits.argmax(dim=1) == labels).sum().item()
        print(f"epoch {epoch + 1}/{args.epochs} train acc {correct / len(loader.dataset):.3f}")
    torch.save({
        "state_dict": model.state_dict(),
        "classes": CLASSES,
        "args": args,
    }, args.checkpoint)


def predict(args, images):
    checkpoint = torch.load(args.checkpoint, map_location="cpu")
    model = build_model()
    model.load_state_dict(checkpoint["state_dict"])
    model.eval()
    batch = torch.stack([test_tf(im) for im in images])
    with torch.no_grad():
        probs = torch.softmax(model(batch), dim=1)
    conf, idx = probs.max(dim=1)
    return [(checkpoint["classes"][i], c) for i, c in zip(idx.tolist(), conf.tolist())]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--checkpoint", default="plant_disease.pt")
    args = parser.parse_args()

    torch.manual_seed(17)
    train(args)
    try:
        for name, confidence in predict(args, [leaf_image(i, size=80) for i in range(4)]):
            print(f"{name:8s} {confidence:.2f}")
    finally:
        os.remove(args.checkpoint)


if __name__ == "__main__":
    main()
