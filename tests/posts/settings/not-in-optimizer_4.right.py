# line 38: the learned log variances of the tasks are parameters of the loss alone, which no optimizer has
import torch
import torch.nn.functional as F
from torch import nn


class FaceNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 12, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(12 * 36, 32), nn.ReLU())
        self.age = nn.Linear(32, 1)
        self.smile = nn.Linear(32, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.age(h).squeeze(1), self.smile(h)


class UncertaintyWeighting:
    def __init__(self, tasks):
        self.log_var = torch.zeros(tasks, requires_grad=True)

    def __call__(self, *losses):
        stacked = torch.stack(losses)
        return (torch.exp(-self.log_var) * stacked + self.log_var).sum()


def faces(n):
    age = torch.rand(n)
    smile = torch.randint(2, (n,))
    image = age.view(-1, 1, 1, 1) + 0.3 * torch.randn(n, 1, 14, 14)
    image[:, 0, 9:11, 4:10] += 0.8 * smile.view(-1, 1, 1)
    return image, age * 40, smile


torch.manual_seed(74)
net, weighting = FaceNet(), UncertaintyWeighting(2)
optimizer = torch.optim.Adam([*net.parameters(), weighting.log_var], lr=2e-3)
image, age, smile = faces(400)
for epoch in range(5):
    tracked = torch.zeros(2)
    for rows in torch.randperm(400).split(40):
        predicted_age, smile_logits = net(image[rows])
        age_loss = F.mse_loss(predicted_age, age[rows])
        smile_loss = F.cross_entropy(smile_logits, smile[rows])
        optimizer.zero_grad()
        weighting(age_loss, smile_loss).backward()
        optimizer.step()
        tracked += torch.stack([age_loss, smile_loss]).detach() * len(rows)
    print(epoch, (tracked / 400).tolist(), weighting.log_var.tolist())
