# line 15: the norm is limited in the accelerator class while the gradients still carry the scale of the GradScaler
import torch
from torch import nn


class Precision:
    def __init__(self, optimizer, max_norm):
        self.optimizer, self.max_norm = optimizer, max_norm
        self.scaler = torch.amp.GradScaler("cpu")

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def step(self, parameters):
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return norm.item()


class ViT(nn.Module):
    def __init__(self, patch=4, dim=24, classes=3):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(0.02 * torch.randn(1, 17, dim))
        self.block = nn.TransformerEncoderLayer(dim, 2, 48, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        t = self.patch(x).flatten(2).transpose(1, 2)
        t = torch.cat([self.cls.expand(len(x), -1, -1), t], dim=1) + self.pos
        return self.head(self.block(t)[:, 0])


torch.manual_seed(88)
label = torch.randint(3, (144,))
image = 0.4 * torch.randn(144, 1, 16, 16)
image[torch.arange(144), 0, 5 * label] += 1.5
model = ViT()
precision = Precision(torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), 1.0)
for epoch in range(3):
    for rows in torch.randperm(144).split(24):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(image[rows])
        loss = nn.functional.cross_entropy(logits.float(), label[rows])
        precision.backward(loss)
        precision.step(model.parameters())
    print(epoch, loss.item())
