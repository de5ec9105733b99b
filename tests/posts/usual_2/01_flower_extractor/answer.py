import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models


class FlowerNet(nn.Module):
    """ResNet trunk + my own classifier."""

    def __init__(self, n_classes=5):
        super().__init__()
        resnet = models.resnet18(weights=None)
        n_features = resnet.fc.in_features
        self.backbone = nn.Sequential(*list(resnet.children())[:-1])
        self.classifier = nn.Sequential(
            nn.Linear(n_features, 128),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(128, n_classes),
        )

    def forward(self, x):
        features = self.backbone(x).flatten(1)
        return self.classifier(features)


def train(model, loader, epochs, device):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        running, correct, seen = 0.0, 0, 0
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            optimizer.zero_grad()
            outputs = model(images)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            running += loss.item() * images.size(0)
            correct += (outputs.argmax(1) == labels).sum().item()
            seen += images.size(0)
        print(f"epoch {epoch}: loss {running / seen:.4f} acc {correct / seen:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images = torch.rand(48, 3, 64, 64)
    labels = torch.randint(0, 5, (48,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)
    model = FlowerNet(n_classes=5).to(device)
    train(model, loader, epochs=2, device=device)
