import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split
from torchvision import transforms

IMG = 20


def draw_sprites(n, generator):
    protos = (torch.rand(6, 1, 14, 14, generator=torch.Generator().manual_seed(8)) > 0.6).float()
    labels = torch.randint(0, 6, (n,), generator=generator)
    images = torch.zeros(n, 1, IMG, IMG)
    for i, k in enumerate(labels.tolist()):
        sprite = protos[k]
        if torch.rand(1, generator=generator) < 0.5:
            sprite = sprite.flip(-1)
        top, left = torch.randint(0, IMG - 14 + 1, (2,), generator=generator).tolist()
        images[i, :, top:top + 14, left:left + 14] = sprite
    return images + 0.3 * torch.randn(images.shape, generator=generator), labels


class SpriteDataset(Dataset):
    def __init__(self, images, labels, transform=None):
        self.images = images
        self.labels = labels
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image = self.images[idx]
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[idx]


train_tf = transforms.Compose([
    transforms.RandomHorizontalFlip(),
    transforms.RandomCrop(IMG, padding=3),
    transforms.Normalize([0.2], [0.5]),
])
eval_tf = transforms.Compose([
    transforms.Normalize([0.2], [0.5]),
])

torch.manual_seed(1)
gen = torch.Generator().manual_seed(1)
images, labels = draw_sprites(900, gen)

full = SpriteDataset(images, labels, transform=train_tf)
train_set, val_set = random_split(full, [300, 600], generator=gen)
val_set.dataset.transform = eval_tf

train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=200)

net = nn.Sequential(
    nn.Flatten(), nn.Linear(IMG * IMG, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 6)
)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(40):
    net.train()
    seen = right = 0
    for x, y in train_loader:
        logits = net(x)
        loss = criterion(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (logits.argmax(1) == y).sum().item()
        seen += len(y)

    net.eval()
    with torch.no_grad():
        val_right = sum((net(x).argmax(1) == y).sum().item() for x, y in val_loader)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d}  train acc {right / seen:.3f}  val acc {val_right / len(val_set):.3f}")
