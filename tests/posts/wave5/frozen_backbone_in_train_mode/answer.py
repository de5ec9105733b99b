import torch
import torch.nn as nn
import torchvision
from torch.utils.data import TensorDataset, DataLoader


def deactivate_requires_grad(model):
    for param in model.parameters():
        param.requires_grad = False


class Classifier(nn.Module):
    def __init__(self, backbone, num_features=512, num_classes=4):
        super().__init__()
        self.backbone = backbone
        deactivate_requires_grad(backbone)
        self.fc = nn.Linear(num_features, num_classes)

    def forward(self, x):
        features = self.backbone(x).flatten(start_dim=1)
        return self.fc(features)


torch.manual_seed(0)
resnet = torchvision.models.resnet18()
backbone = nn.Sequential(*list(resnet.children())[:-1])

train_data = TensorDataset(torch.randn(24, 3, 32, 32) + 2.0, torch.randint(0, 4, (24,)))
loader = DataLoader(train_data, batch_size=8, shuffle=True)

model = Classifier(backbone)
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()

before = backbone[1].running_mean.clone()
for epoch in range(2):
    model.train()
    model.backbone.eval()
    for images, targets in loader:
        loss = criterion(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
print("backbone moved by", (backbone[1].running_mean - before).abs().max().item())
