import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_slides(n_slides, per_slide, seed):
    gen = torch.Generator().manual_seed(seed)
    images, labels = [], []
    axis = torch.arange(24).float()
    for _ in range(n_slides):
        stain = torch.randn(1, generator=gen) * 4.0
        contrast = torch.exp(0.7 * torch.randn(1, generator=gen))
        for _ in range(per_slide):
            label = torch.randint(0, 3, (1,), generator=gen).item()
            phase = torch.rand(1, generator=gen) * 6.28
            wave = torch.sin(axis * (0.5 + 0.3 * label) + phase)
            img = wave.view(1, -1).expand(24, 24) + 0.5 * torch.randn(24, 24, generator=gen)
            images.append((img * contrast + stain).unsqueeze(0))
            labels.append(label)
    return TensorDataset(torch.stack(images), torch.tensor(labels))


class TextureNet(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16, momentum=0.01)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32, momentum=0.01)
        self.drop = nn.Dropout2d(0.1)
        self.conv3 = nn.Conv2d(32, 32, 3, padding=1)
        self.bn3 = nn.BatchNorm2d(32, momentum=0.01)
        self.fc = nn.Linear(32, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = self.drop(x)
        x = F.relu(self.bn3(self.conv3(x)))
        return self.fc(x.mean(dim=(2, 3)))


def train(model, loader, optimizer, criterion):
    model.train()
    running, correct, seen = 0.0, 0, 0
    for images, labels in loader:
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        running += loss.item() * labels.size(0)
        correct += (logits.argmax(1) == labels).sum().item()
        seen += labels.size(0)
    return running / seen, correct / seen


@torch.no_grad()
def test(model, loader, criterion):
    model.eval()
    total, correct, seen = 0.0, 0, 0
    for images, labels in loader:
        logits = model(images)
        total += criterion(logits, labels).item() * labels.size(0)
        correct += (logits.argmax(1) == labels).sum().item()
        seen += labels.size(0)
    return total / seen, correct / seen


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_slides(160, 4, seed=1), batch_size=3, shuffle=True)
    test_loader = DataLoader(make_slides(40, 4, seed=2), batch_size=32)
    model = TextureNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    for epoch in range(10):
        train_loss, train_acc = train(model, train_loader, optimizer, criterion)
        test_loss, test_acc = test(model, test_loader, criterion)
        scheduler.step()
        print(f"epoch {epoch}: train {train_loss:.3f}/{train_acc:.3f}  test {test_loss:.3f}/{test_acc:.3f}")


if __name__ == "__main__":
    main()
