import os

import torch
import torch.nn as nn
from torchvision.models import resnet18

PRETRAINED = "resnet18_plants100.pth"
NUM_CLASSES = 7


def make_pretrained():
    source = resnet18(weights=None, num_classes=100)
    torch.save(source.state_dict(), PRETRAINED)


def build_model():
    model = resnet18(weights=None, num_classes=NUM_CLASSES)
    state = torch.load(PRETRAINED, map_location="cpu")
    model.load_state_dict(state, strict=False)
    return model


def train_one_epoch(model, batches, optimizer, criterion):
    model.train()
    total = 0.0
    for x, y in batches:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


if __name__ == "__main__":
    make_pretrained()
    try:
        model = build_model()
    finally:
        os.remove(PRETRAINED)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.CrossEntropyLoss()
    batches = [(torch.randn(8, 3, 64, 64), torch.randint(0, NUM_CLASSES, (8,))) for _ in range(4)]
    for epoch in range(2):
        print(epoch, train_one_epoch(model, batches, optimizer, criterion))
