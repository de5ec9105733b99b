import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

batch_size = 16
seq_len = 20
vec_dim = 33

data = TensorDataset(torch.randn(64, seq_len, vec_dim), torch.randint(0, 4, (64,)))
loader = DataLoader(data, batch_size=batch_size, shuffle=True, drop_last=True)


class VectorNet(torch.nn.Module):
    def __init__(self, n_classes=4):
        super(VectorNet, self).__init__()
        self.conv1 = torch.nn.Conv1d(seq_len, 20, vec_dim, stride=1)
        self.act = torch.nn.ReLU()
        self.fc = torch.nn.Linear(20, n_classes)

    def forward(self, x):
        out = self.act(self.conv1(x))
        out = out.view(out.size(0), -1)
        return self.fc(out)


net = VectorNet()
loss_fn = nn.CrossEntropyLoss()
optim = torch.optim.Adam(net.parameters(), lr=0.001)

for epoch in range(3):
    epoch_loss = 0.0
    for x, y in loader:
        optim.zero_grad()
        pred = net(x)
        loss = loss_fn(pred, y)
        loss.backward()
        optim.step()
        epoch_loss += loss.item()
    print(epoch, epoch_loss / len(loader))
