import torch
import torch.nn as nn
import torch.nn.functional as F


def small_vgg():
    torch.manual_seed(4)
    layers, c = [], 3
    for width in (16, 32, 32):
        layers += [nn.Conv2d(c, width, 3, padding=1), nn.ReLU(),
                   nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        c = width
    net = nn.Sequential(*layers).eval()
    for p in net.parameters():
        p.requires_grad_(False)
    return net


class SaveFeatures:
    features = None

    def __init__(self, module):
        self.hook = module.register_forward_hook(self.hook_fn)

    def hook_fn(self, module, inp, out):
        self.features = out

    def close(self):
        self.hook.remove()


def picture(kind, size=48):
    grid = torch.linspace(0, 1, size)
    yy, xx = torch.meshgrid(grid, grid, indexing='ij')
    if kind == 'content':
        img = torch.stack([((xx - .5) ** 2 + (yy - .5) ** 2 < .1).float(), xx, yy])
    else:
        img = torch.stack([torch.sin(30 * xx), torch.sin(25 * yy), torch.sin(20 * (xx + yy))]) * .5 + .5
    return img[None]


def gram(x):
    b, c, h, w = x.shape
    x = x.reshape(b, c, h * w)
    return x @ x.transpose(1, 2) / x.numel() * 1e3


net = small_vgg()
blocks = [i - 1 for i, m in enumerate(net) if isinstance(m, nn.MaxPool2d)]
content, style = picture('content'), picture('style')


def new_image():
    torch.manual_seed(0)
    img = torch.rand_like(content).requires_grad_(True)
    return img, torch.optim.LBFGS([img], lr=0.5, max_iter=5)


def run(img, optimizer, loss_fn, rounds, name):
    for n in range(rounds):
        def closure():
            optimizer.zero_grad()
            loss = loss_fn(img)
            loss.backward()
            return loss
        loss = optimizer.step(closure)
        print(name, n, '%.5f' % loss.item())


sfs = [SaveFeatures(net[i]) for i in blocks]
net(content)
content_targets = [s.features.clone() for s in sfs]
net(style)
style_targets = [s.features.clone() for s in sfs]


def style_loss(img):
    net(img)
    outs = [s.features for s in sfs]
    return sum(F.mse_loss(gram(o), gram(t)) for o, t in zip(outs, style_targets))


img, opt = new_image()
run(img, opt, style_loss, 3, 'style')
style_only = img.detach().clamp(0, 1)
for s in sfs:
    s.close()

img, opt = new_image()
sfs = [SaveFeatures(net[i]) for i in blocks]


def combined_loss(img):
    net(img)
    outs = [s.features for s in sfs]
    styles = sum(F.mse_loss(gram(o), gram(t)) for o, t in zip(outs, style_targets))
    return F.mse_loss(outs[1], content_targets[1]) + 10 * styles


run(img, opt, combined_loss, 3, 'style and content')
for s in sfs:
    s.close()
print(style_only.mean().item(), img.detach().clamp(0, 1).mean().item())
