import os
import tempfile

import torch
import torch.nn as nn
import yaml

DEFAULT_CONFIG = """\
experiment: denoise_1d
seed: 0
data:
  n: 512
  length: 128
  noise_std: 0.3
model:
  hidden: 24
  depth: 3
  kernel: 5
optim:
  name: AdamW
  lr: 1e-3
  weight_decay: 0.01
  betas: [0.9, 0.99]
train:
  epochs: 4
  batch_size: 32
  grad_clip: 1.0
"""


class Config(dict):
    """dict with attribute access, nested"""

    def __getattr__(self, key):
        try:
            value = self[key]
        except KeyError as e:
            raise AttributeError(key) from e
        return Config(value) if isinstance(value, dict) else value


def load_config(path):
    with open(path) as f:
        return Config(yaml.safe_load(f))


class Denoiser(nn.Module):
    def __init__(self, hidden, depth, kernel):
        super().__init__()
        layers = [nn.Conv1d(1, hidden, kernel, padding=kernel // 2), nn.GELU()]
        for _ in range(depth - 1):
            layers += [nn.Conv1d(hidden, hidden, kernel, padding=kernel // 2), nn.GroupNorm(4, hidden), nn.GELU()]
        self.net = nn.Sequential(*layers, nn.Conv1d(hidden, 1, 1))

    def forward(self, x):
        return x - self.net(x)


def build_optimizer(model, cfg):
    kwargs = dict(cfg)
    cls = getattr(torch.optim, kwargs.pop("name"))
    no_decay = [p for n, p in model.named_parameters() if n.endswith("bias")]
    decay = [p for n, p in model.named_parameters() if not n.endswith("bias")]
    return cls([{"params": decay}, {"params": no_decay, "weight_decay": 0.0}], **kwargs)


def make_signals(n, length):
    t = torch.linspace(0, 1, length)
    f = torch.rand(n, 1) * 6 + 1
    phase = torch.rand(n, 1) * 6.28
    jump = (t > torch.rand(n, 1)).float() * torch.randn(n, 1)
    return (torch.sin(6.28 * f * t + phase) + jump).unsqueeze(1)


def psnr(a, b):
    return (10 * torch.log10(4.0 / (a - b).pow(2).mean())).item()


def run(cfg):
    torch.manual_seed(cfg.seed)
    clean = make_signals(cfg.data.n, cfg.data.length)
    test_clean = make_signals(64, cfg.data.length)
    test_noisy = test_clean + cfg.data.noise_std * torch.randn_like(test_clean)
    model = Denoiser(**cfg.model)
    optimizer = build_optimizer(model, cfg.optim)
    print(cfg.experiment, "-", sum(p.numel() for p in model.parameters()), "parameters")

    for epoch in range(cfg.train.epochs):
        model.train()
        total = 0.0
        for batch in clean[torch.randperm(len(clean))].split(cfg.train.batch_size):
            noisy = batch + cfg.data.noise_std * torch.randn_like(batch)
            loss = nn.functional.mse_loss(model(noisy), batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg.train.grad_clip)
            optimizer.step()
            total += loss.item() * len(batch)
        model.eval()
        with torch.no_grad():
            quality = psnr(model(test_noisy), test_clean)
        print(f"epoch {epoch}: mse {total / len(clean):.4f}  psnr {quality:.2f} dB (noisy {psnr(test_noisy, test_clean):.2f})")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.yaml")
        with open(path, "w") as f:
            f.write(DEFAULT_CONFIG)
        run(load_config(path))
