import torch
from torch import nn
import timm
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(20)

backbone = timm.create_model("resnet18", pretrained=False, num_classes=0)
pretrain_images = torch.randn(128, 3, 32, 32)
backbone.train()
with torch.no_grad():
    for chunk in pretrain_images.split(32):
        backbone(chunk)

for param in backbone.parameters():
    param.requires_grad = False


class Classifier(nn.Module):
    def __init__(self, encoder, num_classes):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(encoder.num_features, num_classes)

    def forward(self, x):
        return self.head(self.encoder(x))


labels = torch.randint(0, 2, (192,))
images = 0.4 * torch.randn(192, 3, 32, 32) + labels.view(-1, 1, 1, 1) + 2.0
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)

model = Classifier(backbone, 2)
optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

probe = pretrain_images[:8]
model.eval()
with torch.no_grad():
    features_before = model.encoder(probe)

for epoch in range(3):
    model.train()
    model.encoder.eval()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} last batch loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    features_after = model.encoder(probe)
print("change of the frozen features:", (features_after - features_before).abs().max().item())
