import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)
IMG = 32


def draw_texture(kind, n):
    """n noisy RGB textures; every kind has its own direction, period and tint"""
    yy, xx = torch.meshgrid(torch.arange(IMG), torch.arange(IMG), indexing="ij")
    angle = torch.tensor(kind * 0.31)
    period = 3.0 + (kind % 5) * 1.5
    wave = torch.sin((xx * torch.cos(angle) + yy * torch.sin(angle)) * 6.283 / period)
    tint = torch.tensor([(kind * 7) % 10, (kind * 3) % 10, (kind * 5) % 10]) / 10.0
    img = 0.5 * wave.unsqueeze(0) * tint.view(3, 1, 1) + 0.2 * tint.view(3, 1, 1)
    return img.unsqueeze(0) + 0.35 * torch.randn(n, 3, IMG, IMG)


def make_loader(kinds, per_class, shuffle):
    images = torch.cat([draw_texture(k, per_class) for k in kinds])
    labels = torch.arange(len(kinds)).repeat_interleave(per_class)
    return DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=shuffle)


class TextureNet(nn.Module):
    def __init__(self, num_classes=20):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.SiLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.SiLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.SiLU(),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=0.2),
            nn.Linear(64, num_classes),
        )

    def forward(self, x):
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


def train_step(model, dataloader, loss_fn, optimizer):
    model.train()
    train_loss, train_acc = 0, 0
    for X, y in dataloader:
        y_pred = model(X)
        loss = loss_fn(y_pred, y)
        train_loss += loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_acc += (y_pred.argmax(dim=1) == y).float().mean().item()
    return train_loss / len(dataloader), train_acc / len(dataloader)


@torch.inference_mode()
def test_step(model, dataloader, loss_fn):
    model.eval()
    test_loss, test_acc = 0, 0
    for X, y in dataloader:
        logits = model(X)
        test_loss += loss_fn(logits, y).item()
        test_acc += (logits.argmax(dim=1) == y).float().mean().item()
    return test_loss / len(dataloader), test_acc / len(dataloader)


def pretrained_weights():
    net = TextureNet(num_classes=20)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    loader = make_loader(range(20), 40, shuffle=True)
    for _ in range(4):
        train_step(net, loader, nn.CrossEntropyLoss(), opt)
    return net.state_dict()


weights = pretrained_weights()

class_names = ["pizza", "steak", "sushi"]
train_loader = make_loader([21, 26, 30], 60, shuffle=True)
test_loader = make_loader([21, 26, 30], 20, shuffle=False)

model = TextureNet(num_classes=20)
model.load_state_dict(weights)
for param in model.features.parameters():
    param.requires_grad = False
model.classifier[1] = nn.Linear(64, len(class_names))
print(model.classifier)

loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(5):
    train_loss, train_acc = train_step(model, train_loader, loss_fn, optimizer)
    test_loss, test_acc = test_step(model, test_loader, loss_fn)
    print(f"Epoch: {epoch + 1} | train_loss: {train_loss:.4f} | train_acc: {train_acc:.4f} | "
          f"test_loss: {test_loss:.4f} | test_acc: {test_acc:.4f}")
