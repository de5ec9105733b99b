import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(0)


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU())

    def forward(self, x):
        return self.conv(x)


class ProjLayer(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.proj = nn.Sequential(nn.Conv2d(c, c // 2, 3, padding=1), nn.InstanceNorm2d(c // 2), nn.LeakyReLU(), nn.Conv2d(c // 2, c, 1))

    def forward(self, x):
        return self.proj(x)


class Student(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.bn = nn.Sequential(nn.Conv2d(c, c, 1), nn.BatchNorm2d(c))
        self.decoder = nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x):
        return self.decoder(F.relu(self.bn(x)))


def loss_distill(a, b):
    return (1 - F.cosine_similarity(a.flatten(1), b.flatten(1))).mean()


encoder = Teacher().eval()
proj_layer, student = ProjLayer(), Student()
optimizer_proj = torch.optim.Adam(proj_layer.parameters(), lr=1e-3)
optimizer_distill = torch.optim.Adam(student.parameters(), lr=5e-3)

train_loader = DataLoader(TensorDataset(torch.rand(64, 3, 16, 16)), batch_size=4, shuffle=True)
accumulation_steps = 2

for epoch in range(2):
    running = []
    for i, (img,) in enumerate(train_loader):
        noisy = img + 0.2 * torch.randn_like(img)
        with torch.no_grad():
            inputs, inputs_noise = encoder(img), encoder(noisy)
        feature = proj_layer(inputs)
        loss_proj = F.mse_loss(proj_layer(inputs_noise), inputs)
        loss = loss_distill(inputs, student(feature)) + 0.2 * loss_proj
        loss = loss / accumulation_steps
        optimizer_proj.zero_grad()
        optimizer_distill.zero_grad()
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer_proj.step()
            optimizer_distill.step()
        running.append(loss.item() * accumulation_steps)
    print("epoch [{}], loss: {:.4f}".format(epoch + 1, sum(running) / len(running)))
