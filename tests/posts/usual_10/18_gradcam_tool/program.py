import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import resnet18


def fake_xrays(n, seed=0):
    """Grey squares with a bright opacity on the left (0) or on the right (1)."""
    rng = np.random.default_rng(seed)
    x = 0.3 + 0.05 * rng.normal(size=(n, 64, 64))
    y = rng.integers(0, 2, n)
    for i in range(n):
        cx = rng.integers(8, 24) + 32 * y[i]
        cy = rng.integers(12, 52)
        x[i, cy - 6:cy + 6, cx - 6:cx + 6] += 0.6
    x = np.repeat(x[:, None], 3, axis=1).astype(np.float32)
    return torch.from_numpy((x - 0.45) / 0.225), torch.from_numpy(y)


class GradCAM:
    def __init__(self, model, target_layer):
        self.model = model
        self.activations = None
        self.handle = target_layer.register_forward_hook(self._save)

    def _save(self, module, inputs, output):
        self.activations = output

    def remove(self):
        self.handle.remove()

    def __call__(self, x, class_idx=None):
        self.model.eval()
        self.model.zero_grad()
        logits = self.model(x)
        if class_idx is None:
            class_idx = logits.argmax(dim=1)
        score = logits.gather(1, class_idx.view(-1, 1)).sum()
        score.backward()

        grads = self.activations.grad
        weights = grads.mean(dim=(2, 3), keepdim=True)
        cam = F.relu((weights * self.activations).sum(dim=1, keepdim=True))
        cam = F.interpolate(cam, size=x.shape[-2:], mode="bilinear", align_corners=False)
        flat = cam.flatten(1)
        lo, hi = flat.min(1)[0], flat.max(1)[0]
        cam = (cam - lo.view(-1, 1, 1, 1)) / (hi - lo + 1e-8).view(-1, 1, 1, 1)
        return cam.squeeze(1).detach().numpy(), class_idx


def finetune(model, x, y, epochs=2):
    opt = torch.optim.Adam(model.parameters(), lr=5e-4)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(16):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        print(f"epoch {epoch} loss {total / len(x):.4f}")


def main():
    torch.manual_seed(0)
    model = resnet18(weights=None)
    model.fc = nn.Linear(model.fc.in_features, 2)
    x, y = fake_xrays(96)
    finetune(model, x, y)

    cam = GradCAM(model, model.layer3[-1])
    xt, yt = fake_xrays(8, seed=1)
    heat, pred = cam(xt)
    cam.remove()
    for i in range(len(xt)):
        row, col = np.unravel_index(heat[i].argmax(), heat[i].shape)
        print(f"image {i}: true {yt[i].item()} pred {pred[i].item()} peak at ({row}, {col})")


if __name__ == "__main__":
    main()
