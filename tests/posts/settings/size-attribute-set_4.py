# line 42: fc.out_features of the ResNet is set to 4, but its layer goes on giving 100 outputs
import torch
from torch import nn
from torchvision.models.resnet import BasicBlock, ResNet

NUM_CLASSES = 4


def leaves(n):
    species = torch.randint(NUM_CLASSES, (n,))
    leaf = 0.3 * torch.randn(n, 3, 32, 32)
    for i, s in enumerate(species.tolist()):
        leaf[i, s % 3, 4 * s : 4 * s + 12, 8:24] += 1.5
    return leaf, species


class LeafTask:
    def __init__(self, net, lr=0.02):
        self.net = net
        self.criterion = nn.CrossEntropyLoss()
        self.opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)

    def train(self, leaf, species, batch=16):
        self.net.train()
        total = 0.0
        for rows in torch.randperm(len(leaf)).split(batch):
            loss = self.criterion(self.net(leaf[rows]), species[rows])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item() * len(rows)
        return total / len(leaf)

    @torch.no_grad()
    def accuracy(self, leaf, species):
        self.net.eval()
        return (self.net(leaf).argmax(1) == species).float().mean().item()


torch.manual_seed(55)
net = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=100)
net.fc.out_features = NUM_CLASSES
task = LeafTask(net)
train_leaf, train_species = leaves(64)
test_leaf, test_species = leaves(24)
for epoch in range(2):
    loss = task.train(train_leaf, train_species)
    print(f"epoch {epoch}: loss {loss:.3f} accuracy {task.accuracy(test_leaf, test_species):.3f}")
