# line 14: index_select with the labels takes the log probabilities of the labels of all rows for every row
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, label):
        log_p = logits.log_softmax(dim=1)
        log_pt = torch.index_select(log_p, 1, label)
        weight = (1 - log_pt.exp()) ** self.gamma
        return -(weight * log_pt).mean()


class SensorNet(nn.Module):
    def __init__(self, channels=3, classes=5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(channels, 16, 5, stride=2), nn.ReLU(), nn.Conv1d(16, 32, 5, stride=2), nn.ReLU()
        )
        self.classify = nn.Linear(32, classes)

    def forward(self, signal):
        return self.classify(self.features(signal).mean(-1))


torch.manual_seed(15)
label = torch.multinomial(torch.tensor([0.5, 0.2, 0.1, 0.1, 0.1]), 200, replacement=True)
signal = torch.randn(200, 3, 40) + torch.sin(0.3 * (label.view(-1, 1, 1) + 1) * torch.arange(40))
train_set = TensorDataset(signal[:160], label[:160])
net, focal = SensorNet(), FocalLoss()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    net.train()
    for x, y in DataLoader(train_set, 32, shuffle=True):
        opt.zero_grad()
        loss = focal(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        hits = (net(signal[160:]).argmax(1) == label[160:]).sum().item()
    print(epoch, loss.item(), hits / 40)
