import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models


def build_model(num_classes):
    model = models.resnet18(weights=None)
    model.fc = nn.Linear(model.fc.in_features, num_classes)
    return model


def pretrain(path, num_classes=20):
    """Stands for the earlier training job that left its checkpoint on disk."""
    model = build_model(num_classes)
    torch.save({"epoch": 30, "state_dict": model.state_dict()}, path)


class Trainer:
    def __init__(self, model, loader, lr=1e-3, device="cpu"):
        self.model = model.to(device)
        self.loader = loader
        self.device = device
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr, weight_decay=1e-4)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            total = 0.0
            for x, y in self.loader:
                x, y = x.to(self.device), y.to(self.device)
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                total += loss.item() * x.size(0)
            print(f"epoch {epoch}: {total / len(self.loader.dataset):.4f}")


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    num_classes = 4

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "birds_resnet18.pth")
        pretrain(path)
        checkpoint = torch.load(path, map_location="cpu")

    # fine-tune on our own four species
    state_dict = checkpoint["state_dict"]
    model = build_model(num_classes)
    model.load_state_dict(state_dict)

    images = torch.randn(32, 3, 64, 64)
    labels = torch.randint(0, num_classes, (32,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=8, shuffle=True)

    trainer = Trainer(model, loader, device=device)
    trainer.fit(epochs=2)


if __name__ == "__main__":
    main()
