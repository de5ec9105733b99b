import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

EPOCH = 3
BATCH_SIZE = 20
LR = 0.002
FAULTS = ['normal', 'inner', 'outer', 'ball', 'cage']


class FaultCNN(nn.Module):
    def __init__(self):
        super(FaultCNN, self).__init__()
        self.block1 = nn.Sequential(
            nn.Conv2d(
                in_channels=1,
                out_channels=8,
                kernel_size=3,
                stride=1,
                padding=1,
            ),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2),
        )
        self.block2 = nn.Sequential(
            nn.Conv2d(8, 16, 3, 1, 1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.block3 = nn.Sequential(
            nn.Conv2d(16, 32, 2, 1, 1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classify = nn.Linear(64, len(FAULTS))

    def forward(self, x):
        x = self.block1(x)
        x = self.block2(x)
        output = self.classify(x)
        return output


def vibration_maps(n, seed):
    rng = np.random.RandomState(seed)
    y = rng.randint(0, len(FAULTS), n)
    t = np.arange(28 * 28)
    signal = np.stack([np.sin(0.05 * (c + 1) * t + rng.rand() * 6) for c in y])
    signal = signal + 0.3 * rng.randn(n, 28 * 28)
    maps = signal.reshape(n, 1, 28, 28).astype('float32')
    return torch.from_numpy(maps), torch.from_numpy(y).long()


train_x, train_y = vibration_maps(400, 1)
test_x, test_y = vibration_maps(100, 2)
train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=BATCH_SIZE, shuffle=True)

cnn = FaultCNN()
print(cnn)
optimizer = torch.optim.Adam(cnn.parameters(), lr=LR)
loss_func = nn.CrossEntropyLoss()

for epoch in range(EPOCH):
    for step, (b_x, b_y) in enumerate(train_loader):
        output = cnn(b_x)
        loss = loss_func(output, b_y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    with torch.no_grad():
        pred_y = torch.max(cnn(test_x), 1)[1]
        accuracy = (pred_y == test_y).float().mean().item()
    print('Epoch: ', epoch, '| train loss: %.4f' % loss.item(), '| test accuracy: %.2f' % accuracy)
