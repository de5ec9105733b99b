import os
import tempfile

import torch
import torch.nn as nn


class ConvBlock(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.conv = nn.Conv2d(in_ch, out_ch, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(out_ch)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class LesionClassifier(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.features = nn.Sequential(
            ConvBlock(3, 16), nn.MaxPool2d(2),
            ConvBlock(16, 32), nn.AdaptiveAvgPool2d(1),
        )
        self.classifier = nn.Linear(32, num_classes)

    def forward(self, x):
        x = self.features(x).flatten(1)
        return self.classifier(x)


def train(save_path, steps=5):
    model = nn.DataParallel(LesionClassifier())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for step in range(steps):
        x = torch.randn(8, 3, 32, 32)
        y = torch.randint(0, 4, (8,))
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")
    torch.save(model.module.state_dict(), save_path)


def predict(checkpoint_path, images):
    model = LesionClassifier()
    state_dict = torch.load(checkpoint_path, map_location="cpu")
    model.load_state_dict(state_dict)
    model.eval()
    with torch.no_grad():
        return model(images).softmax(dim=1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lesion.pth")
        train(path)
        probs = predict(path, torch.randn(2, 3, 32, 32))
        print(probs)
