import torch
import torch.nn as nn
import torch.nn.functional as F

device = 'cuda' if torch.cuda.is_available() else 'cpu'
torch.manual_seed(0)


class NormalityMemory(nn.Module):
    """Re-expresses student features with a small learned bank of normal patterns."""

    def __init__(self, channel, L=50):
        super().__init__()
        self.keys = torch.randn(L, channel).to(device)
        self.values = torch.randn(L, channel).to(device)

    def forward(self, feat):
        b, c, h, w = feat.shape
        query = feat.permute(0, 2, 3, 1).reshape(-1, c)
        attn = F.softmax(query @ self.keys.t() / c ** 0.5, dim=1)
        out = attn @ self.values
        return out.view(b, h, w, c).permute(0, 3, 1, 2)


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU())
        self.mem1 = NormalityMemory(32)
        self.mem2 = NormalityMemory(64)

    def forward(self, x):
        f1 = self.stage1(x)
        f2 = self.stage2(f1)
        return [f1 + self.mem1(f1), f2 + self.mem2(f2)]


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU())

    def forward(self, x):
        f1 = self.stage1(x)
        return [f1, self.stage2(f1)]


teacher = Teacher().to(device).eval().requires_grad_(False)
student = Student().to(device)
optimizer = torch.optim.Adam(student.parameters(), lr=0.004)
normal_images = torch.rand(40, 3, 64, 64)

for epoch in range(3):
    epoch_loss = 0.0
    for batch in normal_images[torch.randperm(40)].split(16):
        batch = batch.to(device)
        loss = 0
        for fs, ft in zip(student(batch), teacher(batch)):
            loss = loss + (1 - F.cosine_similarity(fs, ft, dim=1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * batch.size(0)
    print('epoch %d loss %.4f' % (epoch, epoch_loss / len(normal_images)))

torch.save(student.state_dict(), 'student.pth')
