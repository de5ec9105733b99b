# line 19: the mask of the wrong classes is ~ of the integer one-hot, so the hinge is weighted -1 and -2
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SquaredHinge(nn.Module):
    """Crammer-Singer like margin loss, averaged over samples."""

    def __init__(self, n_classes, margin=1.0):
        super().__init__()
        self.n_classes, self.margin = n_classes, margin

    def forward(self, scores, labels):
        own = F.one_hot(labels, self.n_classes)
        own_score = (scores * own).sum(1, keepdim=True)
        violation = F.relu(self.margin + scores - own_score)
        return (violation.square() * (1 - own)).sum(1).mean()


def digits(n, side=8, classes=4):
    y = torch.randint(0, classes, (n,))
    x = 0.5 * torch.randn(n, 1, side, side)
    for k in range(classes):
        r, c = divmod(k, 2)
        x[y == k, :, 4 * r : 4 * r + 4, 4 * c : 4 * c + 4] += 0.6
    return TensorDataset(x, y)


torch.manual_seed(3)
convnet = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 4)
)
objective = SquaredHinge(4)
sgd = torch.optim.SGD(convnet.parameters(), lr=1e-3)
for epoch in range(3):
    convnet.train()
    summed = 0.0
    data = digits(320)
    for x, y in DataLoader(data, batch_size=32, shuffle=True):
        sgd.zero_grad()
        loss = objective(convnet(x), y)
        loss.backward()
        sgd.step()
        summed += loss.item() * len(y)
    print(epoch, summed / len(data))

convnet.eval()
with torch.no_grad():
    x, y = digits(200).tensors
    print("accuracy", (convnet(x).argmax(1) == y).float().mean().item())
