import timm
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
N_BANDS, N_LAND_USE = 6, 4


def satellite_tiles(n, size=32):
    y = torch.arange(n) % N_LAND_USE
    x = torch.rand(n, N_BANDS, size, size)
    x[torch.arange(n), y] += 0.7
    return TensorDataset(x, y)


def build_model(arch):
    return timm.create_model(
        arch,
        pretrained=False,
        in_channels=N_BANDS,
        num_classes=N_LAND_USE,
    )


def train(model, loader, epochs=2):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    model.train()
    for epoch in range(epochs):
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


model = build_model("resnet18")
train(model, DataLoader(satellite_tiles(64), batch_size=16, shuffle=True))
