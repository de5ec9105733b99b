import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models

NUM_CLASSES = 12
BATCH_SIZE = 4
EPOCHS = 1


class TwoScaleAlexNet(nn.Module):
    """Shared AlexNet trunk for a close crop and a wide crop of the same object."""

    def __init__(self, num_classes, backbone):
        super().__init__()
        self.features = backbone.features
        self.avgpool = backbone.avgpool
        self.dropout = nn.Dropout(p=0.5)
        self.relu = nn.ReLU(inplace=True)

        self.fc6_near = nn.Linear(256 * 6 * 6, 512)
        self.fc6_wide = nn.Linear(256 * 6 * 6, 512)
        self.fc7_near = nn.Linear(512, 256)
        self.fc7_wide = nn.Linear(512, 256)
        self.fc8 = nn.Linear(512, num_classes)

    def trunk(self, crop):
        out = self.avgpool(self.features(crop))
        return self.dropout(out)

    def forward(self, near, wide):
        a = self.trunk(near)
        b = self.trunk(wide)

        a = self.dropout(self.relu(self.fc6_near(a)))
        b = self.dropout(self.relu(self.fc6_wide(b)))

        a = self.relu(self.fc7_near(a))
        b = self.relu(self.fc7_wide(b))

        joined = torch.cat([a, b], dim=1)
        return self.fc8(joined)


def make_loader(n=12):
    near = torch.randn(n, 3, 224, 224)
    wide = torch.randn(n, 3, 224, 224)
    target = torch.randint(0, NUM_CLASSES, (n,))
    return DataLoader(TensorDataset(near, wide, target), batch_size=BATCH_SIZE, shuffle=True)


def train():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = TwoScaleAlexNet(NUM_CLASSES, models.alexnet(weights=None)).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.001, momentum=0.9, weight_decay=5e-4)
    loader = make_loader()

    model.train()
    for epoch in range(EPOCHS):
        running = 0.0
        for near, wide, target in loader:
            near, wide, target = near.to(device), wide.to(device), target.to(device)
            optimizer.zero_grad()
            logits = model(near, wide)
            loss = criterion(logits, target)
            loss.backward()
            optimizer.step()
            running += loss.item() * target.size(0)
        print(f"epoch {epoch}: loss {running / len(loader.dataset):.4f}")


if __name__ == "__main__":
    train()
