import torch
import torch.nn as nn
import torch.nn.functional as F


def glyphs(n, classes, seed, side=12):
    g = torch.Generator().manual_seed(seed)
    protos = torch.rand(16, 1, side, side, generator=torch.Generator().manual_seed(77)).gt(0.65).float()
    pick = torch.tensor(classes)
    y = torch.randint(0, len(classes), (n,), generator=g)
    x = protos[pick[y]]
    shift = torch.randint(-1, 2, (n, 2), generator=g).tolist()
    x = torch.stack([torch.roll(img, tuple(s), dims=(1, 2)) for img, s in zip(x, shift)])
    return x + 0.4 * torch.randn(x.shape, generator=g), y


class GlyphNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        )
        self.head = nn.Linear(32 * 3 * 3, num_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def make_optimizer(model, lr_backbone, lr_head):
    return torch.optim.AdamW([
        {"params": model.backbone.parameters(), "lr": lr_backbone},
        {"params": model.head.parameters(), "lr": lr_head},
    ])


def fit(model, optimizer, x, y, epochs):
    for _ in range(epochs):
        model.train()
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        yield loss.item()


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)

# source task: ten glyphs, plenty of data
x_src, y_src = glyphs(2000, list(range(10)), seed=0)
model = GlyphNet(10)
for loss in fit(model, make_optimizer(model, 1e-3, 1e-3), x_src, y_src, epochs=6):
    pass
print(f"pretrained: {accuracy(model, x_src, y_src):.3f} on the source glyphs")

# target task: six new glyphs, 120 examples
x_new, y_new = glyphs(120, list(range(10, 16)), seed=1)
x_test, y_test = glyphs(600, list(range(10, 16)), seed=2)

optimizer = make_optimizer(model, lr_backbone=1e-5, lr_head=5e-3)
model.head = nn.Linear(model.head.in_features, 6)

for epoch, loss in enumerate(fit(model, optimizer, x_new, y_new, epochs=25)):
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d}  loss {loss:.4f}  test acc {accuracy(model, x_test, y_test):.3f}")
