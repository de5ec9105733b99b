import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import resnet18

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)

NUM_CLASSES = 6


def make_data(n):
    y = torch.randint(0, NUM_CLASSES, (n,))
    x = torch.randn(n, 3, 32, 32)
    x += y.view(-1, 1, 1, 1) * 0.3
    return TensorDataset(x, y)


def build_model():
    return resnet18(weights=None, num_classes=NUM_CLASSES)


def pretrain(path):
    model = build_model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for x, _ in DataLoader(make_data(64), batch_size=32):
        x = x.to(device)
        flipped = torch.flip(x, dims=[3])
        loss = (model(x) - model(flipped)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pretraining loss {loss.item():.4f}")
    torch.save({
        "arch": "resnet18",
        "module": model.state_dict(),
        "is_pretrain": True,
    }, path)


def load_pretrained(path):
    model = build_model()
    state = torch.load(path, map_location="cpu")["module"]
    model.load_state_dict(state, strict=True)
    return model.to(device)


def finetune(model, epochs=2):
    loader = DataLoader(make_data(128), batch_size=32, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch}: loss {running / len(loader):.4f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = os.path.join(folder, "resnet18_pretrained.pth")
        pretrain(checkpoint)
        model = load_pretrained(checkpoint)
    finetune(model)
