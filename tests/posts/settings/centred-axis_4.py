# line 24: the style covariance centres every pixel over its channels, not every channel over the pixels
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 12, 3, padding=1)
        self.b = nn.Conv2d(12, 24, 3, padding=1, stride=2)
        self.requires_grad_(False)

    def forward(self, x):
        first = F.relu(self.a(x))
        return [first, F.relu(self.b(first))]


def channel_covariance(maps):
    n, c, h, w = maps.shape
    flat = maps.reshape(n, c, h * w)
    flat = flat.sub(flat.mean(dim=1, keepdim=True))
    return torch.bmm(flat, flat.transpose(1, 2)).div(h * w - 1)


class StyleTransfer:
    def __init__(self, net, style, weights=(1.0, 0.5), lr=0.05):
        self.net = net.eval()
        with torch.no_grad():
            self.wanted = [channel_covariance(m) for m in net(style)]
        self.weights, self.lr = weights, lr

    def style_loss(self, image):
        pairs = zip(self.weights, self.net(image), self.wanted)
        return sum(w * F.mse_loss(channel_covariance(m), goal) for w, m, goal in pairs)

    def run(self, content, steps=40):
        canvas = content.clone().requires_grad_(True)
        optimizer = torch.optim.Adam([canvas], lr=self.lr)
        for step in range(steps):
            optimizer.zero_grad()
            loss = self.style_loss(canvas) + 0.01 * F.mse_loss(canvas, content)
            loss.backward()
            optimizer.step()
            if step % 10 == 0:
                print(step, loss.item())
        return canvas.detach()


stripes = torch.sin(torch.arange(24.0) / 2).expand(1, 3, 24, 24).contiguous()
photo = torch.rand(1, 3, 24, 24)
result = StyleTransfer(Features(), stripes).run(photo)
print(result.mean().item(), result.std().item())
