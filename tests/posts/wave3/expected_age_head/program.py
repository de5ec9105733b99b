import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(1)
        self.crops = torch.rand(n, 3, 64, 64, generator=g)
        self.ages = torch.randint(0, 101, (n,), generator=g)

    def __len__(self):
        return len(self.ages)

    def __getitem__(self, i):
        return self.crops[i], float(self.ages[i])


class AgeNet(nn.Module):
    def __init__(self, max_age=100):
        super(AgeNet, self).__init__()
        self.layer = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=2), nn.ReLU(),
            nn.Conv2d(16, 32, 5, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
            nn.Linear(32 * 16, max_age + 1))
        self.years = torch.arange(0, max_age + 1).float()

    def forward(self, crop):
        prob = self.layer(crop).softmax(dim=1)
        return (prob * self.years).sum(dim=1)


def main():
    train_loader = DataLoader(Faces(70), batch_size=32, shuffle=True)
    model = AgeNet()
    model.cuda()
    criterion = nn.L1Loss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(2):
        total = 0.0
        for crop, age in train_loader:
            crop, age = crop.cuda(), age.float().cuda()
            loss = criterion(model(crop), age)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * crop.size(0)
        print('epoch', epoch, 'MAE', total / len(train_loader.dataset))


if __name__ == '__main__':
    main()
