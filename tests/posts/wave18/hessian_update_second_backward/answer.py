import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SecondOrderSGD(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.96, 0.99), rho=0.04, weight_decay=0.1):
        super().__init__(params, dict(lr=lr, betas=betas, rho=rho, weight_decay=weight_decay))

    @torch.no_grad()
    def update_hessian(self):
        for group in self.param_groups:
            beta2 = group['betas'][1]
            for p in group['params']:
                if p.grad is None:
                    continue
                state = self.state[p]
                if 'hess' not in state:
                    state['hess'] = torch.zeros_like(p)
                state['hess'].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)

    @torch.no_grad()
    def step(self, bs=1):
        for group in self.param_groups:
            beta1 = group['betas'][0]
            for p in group['params']:
                if p.grad is None:
                    continue
                state = self.state[p]
                m = state.setdefault('m', torch.zeros_like(p))
                hess = state.setdefault('hess', torch.zeros_like(p))
                m.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                p.mul_(1 - group['lr'] * group['weight_decay'])
                ratio = (m.abs() / (group['rho'] * bs * hess + 1e-15)).clamp(max=1)
                p.addcmul_(m.sign(), ratio, value=-group['lr'])


class ImageTextNet(nn.Module):
    def __init__(self, vocab=500, classes=6):
        super().__init__()
        self.vision = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(),
                                    nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.words = nn.EmbeddingBag(vocab, 32)
        self.head = nn.Sequential(nn.Linear(48, 64), nn.GELU(), nn.Linear(64, classes))

    def forward(self, image, text):
        return self.head(torch.cat([self.vision(image), self.words(text)], dim=1))


def make_data(n=256):
    image = torch.randn(n, 3, 24, 24)
    text = torch.randint(0, 500, (n, 12))
    label = (text[:, 0] % 6).long()
    return TensorDataset(image, text, label)


def train(epochs=2, hess_every=10, batch_size=16):
    model = ImageTextNet()
    optimizer = SecondOrderSGD(model.parameters(), lr=2e-3)
    loader = DataLoader(make_data(), batch_size=batch_size, shuffle=True)
    it = 0
    for epoch in range(epochs):
        running = 0.0
        for image, text, label in loader:
            logits = model(image, text)
            loss = F.cross_entropy(logits, label)
            loss.backward()
            optimizer.step(bs=batch_size)
            optimizer.zero_grad(set_to_none=True)
            running += loss.item()
            if it % hess_every == hess_every - 1:
                logits = model(image, text)
                sampled = torch.distributions.Categorical(logits=logits).sample()
                loss_sampled = F.cross_entropy(logits, sampled)
                loss_sampled.backward()
                optimizer.update_hessian()
                optimizer.zero_grad(set_to_none=True)
            it += 1
        print(f'epoch {epoch}: loss {running / len(loader):.3f} (chance {math.log(6):.3f})')


if __name__ == '__main__':
    torch.manual_seed(0)
    train()
