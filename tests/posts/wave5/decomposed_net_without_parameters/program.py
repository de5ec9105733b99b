import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader


class PlainNet(nn.Module):
    def __init__(self):
        super(PlainNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=5)
        self.fc1 = nn.Linear(4 * 5 * 5, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        return F.log_softmax(self.fc1(x.view(-1, 100)), dim=1)


class DecompNet(nn.Module):
    """the same network, with fc1 replaced by two factors"""

    def __init__(self, path_pretrained_model, rank=6):
        super(DecompNet, self).__init__()
        params = torch.load(path_pretrained_model)
        self.W_conv1 = params["conv1.weight"]
        self.B_conv1 = params["conv1.bias"]
        U, S, V = torch.svd(params["fc1.weight"])
        self.left = U[:, :rank] * S[:rank]
        self.right = V[:, :rank].t()
        self.B_fc1 = params["fc1.bias"]

    def forward(self, x):
        x = F.relu(F.max_pool2d(F.conv2d(x, self.W_conv1, self.B_conv1), 2))
        x = F.linear(x.view(-1, 100), self.right)
        x = F.linear(x, self.left, self.B_fc1)
        return F.log_softmax(x, dim=1)


path = os.path.join(tempfile.mkdtemp(), "mymodel.pth")
torch.save(PlainNet().state_dict(), path)

data = TensorDataset(torch.randn(96, 1, 14, 14), torch.randint(0, 10, (96,)))
train_loader = DataLoader(data, batch_size=32, shuffle=True)
model = DecompNet(path)
print("test output", model(torch.randn(2, 1, 14, 14)).shape)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)

for epoch in range(1, 3):
    model.train()
    for batch_idx, (x, target) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(x), target)
        loss.backward()
        optimizer.step()
    print("Train Epoch: {} Loss: {:.6f}".format(epoch, loss.item()))
