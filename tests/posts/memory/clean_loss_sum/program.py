import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __init__(self, n=400, size=320):
        self.n = n
        self.size = size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        image = torch.rand(1, self.size, self.size)
        mask = (torch.rand(self.size, self.size) > 0.7).long()
        return image, mask


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + x)


class Segmenter(nn.Module):
    def __init__(self, channels=48, depth=6):
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 5, padding=2)
        self.blocks = nn.Sequential(*[Residual(channels) for _ in range(depth)])
        self.head = nn.Conv2d(channels, 2, 1)

    def forward(self, x):
        return self.head(self.blocks(F.relu(self.stem(x))))


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(Scans(), batch_size=1, shuffle=True)
model = Segmenter().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(10):
    total_loss = 0
    for image, mask in loader:
        image, mask = image.to(device), mask.to(device)
        optimizer.zero_grad()
        noisy = image + 0.1 * torch.randn_like(image)
        loss = criterion(model(noisy), mask)
        loss.backward()
        optimizer.step()
        prediction = model(image)
        clean_loss = criterion(prediction, mask)
        total_loss += clean_loss
    print("epoch", epoch, "loss on clean images", float(total_loss) / len(loader))
