import argparse
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset
from torchvision import models

parser = argparse.ArgumentParser(description='deep hashing on NUS-WIDE')
parser.add_argument('--bits', type=int, default=12, help='binary code length')
parser.add_argument('--epochs', type=int, default=1)
parser.add_argument('--batch-size', type=int, default=64)
parser.add_argument('--learning-rate', type=float, default=0.001)


class NusWide(Dataset):
    """pictures with any of the 21 most frequent concepts"""
    num_labels = 21

    def __init__(self, n):
        g = torch.Generator().manual_seed(n)
        self.images = torch.rand(n, 3, 64, 64, generator=g)
        self.labels = (torch.rand(n, self.num_labels, generator=g) < 0.12).float()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.labels[i], i


class CNNNet(nn.Module):
    def __init__(self, code_length):
        super(CNNNet, self).__init__()
        original = models.alexnet(weights=None)
        self.features = original.features
        self.classifier = nn.Sequential(
            nn.Dropout(), nn.Linear(256, 512), nn.ReLU(inplace=True),
            nn.Dropout(), nn.Linear(512, 512), nn.ReLU(inplace=True),
            nn.Linear(512, code_length))

    def forward(self, x):
        f = self.features(x)
        f = f.view(f.size(0), 256)
        return self.classifier(f)


def train(opt):
    torch.manual_seed(0)
    dataset = NusWide(150)
    loader = DataLoader(dataset, batch_size=opt.batch_size, shuffle=True)
    model = CNNNet(opt.bits)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = optim.SGD(model.parameters(), lr=opt.learning_rate, weight_decay=5e-4)
    for epoch in range(opt.epochs):
        model.train()
        total = 0.0
        for iteration, (images, labels, index) in enumerate(loader):
            output = model(images)
            loss = criterion(output, labels)
            model.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(index)
        print('[Iteration: %3d][Train Loss: %.4f]' % (epoch, total / len(dataset)))
    return model


if __name__ == '__main__':
    opt = parser.parse_args()
    train(opt)
