import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SmallCNN(nn.Module):
    def __init__(self, num_classes=6):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.head = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.head(self.conv(x))


def train(ckpt_path, device, epochs=2):
    model = SmallCNN().to(device)
    model = nn.DataParallel(model)
    x = torch.randn(128, 3, 32, 32)
    y = torch.randint(0, 6, (128,))
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(epochs):
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    torch.save({"epoch": epochs, "state_dict": model.module.state_dict()}, ckpt_path)


def predict(ckpt_path, images, device):
    model = SmallCNN().to(device)
    checkpoint = torch.load(ckpt_path, map_location=device)
    model.load_state_dict(checkpoint["state_dict"])
    model.eval()
    with torch.no_grad():
        return model(images.to(device)).softmax(dim=1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model_last.pth")
        train(path, device)
        probs = predict(path, torch.randn(4, 3, 32, 32), device)
    print(probs.argmax(dim=1).tolist())


if __name__ == "__main__":
    main()
