# line 43: the test pictures are normalised with their own channel means and deviations
import torch
import torch.nn as nn
import torch.nn.functional as F


def raw_pictures(n, brightness):
    kind = torch.randint(0, 3, (n,))
    x = brightness + 0.15 * torch.randn(n, 3, 8, 8)
    x[torch.arange(n), kind] += 0.2
    return x.clamp(0, 2), kind


class Normalizer:
    def __init__(self, images):
        dims = (0, 2, 3)
        self.mean = images.mean(dim=dims, keepdim=True)
        self.std = images.std(dim=dims, keepdim=True)

    def __call__(self, images):
        return (images - self.mean) / self.std


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 12, 3, padding=1)
        self.fc = nn.Linear(12, 3)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).mean(dim=(2, 3)))


torch.manual_seed(3)
images, kinds = raw_pictures(500, 0.4)
order = torch.randperm(len(images))
train_ids, test_ids = order[:400], order[400:]
x_fit, y_fit = images[train_ids], kinds[train_ids]
x_new, y_new = images[test_ids], kinds[test_ids]

normalize = Normalizer(x_fit)
x_fit = normalize(x_fit)
x_new = Normalizer(x_new)(x_new)

cnn = SmallCNN()
optimizer = torch.optim.Adam(cnn.parameters(), lr=5e-3)
for epoch in range(5):
    cnn.train()
    total = 0.0
    for rows in torch.randperm(len(x_fit)).split(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(cnn(x_fit[rows]), y_fit[rows])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    print(epoch, total / len(x_fit))

cnn.eval()
with torch.no_grad():
    print("test accuracy", (cnn(x_new).argmax(1) == y_new).float().mean().item())
