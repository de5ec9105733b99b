# line 34: the cross entropy over the single output with float targets is always 0
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class GraphLevelNet(nn.Module):
    """Two rounds of message passing, then one score for each molecule."""

    def __init__(self, atoms, width):
        super().__init__()
        self.embed = nn.Linear(atoms, width)
        self.update = nn.Linear(2 * width, width)
        self.toxicity = nn.Linear(width, 1)

    def forward(self, nodes, adjacency):
        h = torch.relu(self.embed(nodes))
        for _ in range(2):
            h = torch.relu(self.update(torch.cat([h, adjacency @ h], dim=-1)))
        return self.toxicity(h.sum(dim=1))


def molecules(n, size=7, atoms=4):
    kinds = torch.randint(0, atoms, (n, size))
    upper = torch.triu((torch.rand(n, size, size) < 0.4).float(), diagonal=1)
    nodes = nn.functional.one_hot(kinds, atoms).float()
    label = (kinds == 2).sum(1, keepdim=True) > 1
    return TensorDataset(nodes, upper + upper.transpose(1, 2), label.float())


torch.manual_seed(11)
train_set, test_set = random_split(molecules(500), [400, 100])
net = GraphLevelNet(4, 16)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)

for epoch in range(8):
    net.train()
    epoch_loss = 0.0
    for nodes, adjacency, toxic in DataLoader(train_set, batch_size=25, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(net(nodes, adjacency), toxic)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(toxic)
    print(epoch, round(epoch_loss / len(train_set), 4))

net.eval()
correct = 0
with torch.no_grad():
    for nodes, adjacency, toxic in DataLoader(test_set, batch_size=50):
        correct += ((net(nodes, adjacency) > 0).float() == toxic).sum().item()
print("accuracy", correct / len(test_set))
