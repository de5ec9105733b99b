import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset


class PACTQuant(Function):
    """clipped activation with a learnable upper bound per channel, then k-bit quantisation"""

    @staticmethod
    def forward(ctx, x, alpha, bits):
        ctx.save_for_backward(x, alpha)
        bound = alpha.view(1, -1, 1, 1)
        y = torch.minimum(torch.clamp(x, min=0.0), bound)
        scale = (2 ** bits - 1) / bound
        return torch.round(y * scale) / scale

    @staticmethod
    def backward(ctx, grad_output):
        x, alpha = ctx.saved_tensors
        bound = alpha.view(1, -1, 1, 1)
        inside = (x >= 0) & (x < bound)
        above = x >= bound
        grad_x = grad_output * inside.float()
        grad_alpha = grad_output * above.float()
        return grad_x, grad_alpha, None


class PACT(nn.Module):
    def __init__(self, channels, bits=4, init=2.0):
        super().__init__()
        self.bits = bits
        self.alpha = nn.Parameter(torch.full((channels,), init))

    def forward(self, x):
        return PACTQuant.apply(x, self.alpha, self.bits)


class QuantCNN(nn.Module):
    def __init__(self, n_classes=10, bits=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.act1 = PACT(16, bits)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.act2 = PACT(32, bits)
        self.fc = nn.Linear(32 * 7 * 7, n_classes)

    def forward(self, x):
        x = F.max_pool2d(self.act1(self.conv1(x)), 2)
        x = F.max_pool2d(self.act2(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


torch.manual_seed(0)
x = torch.randn(256, 1, 28, 28)
y = torch.randint(0, 10, (256,))
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)

model = QuantCNN()
alphas = [p for n, p in model.named_parameters() if "alpha" in n]
others = [p for n, p in model.named_parameters() if "alpha" not in n]
optimizer = torch.optim.SGD(
    [{"params": others, "weight_decay": 1e-4}, {"params": alphas, "weight_decay": 1e-3}],
    lr=0.01, momentum=0.9,
)

for epoch in range(2):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} alphas {[round(a.mean().item(), 3) for a in alphas]}")
