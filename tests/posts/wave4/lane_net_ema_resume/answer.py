"""Lane segmentation with an exponential moving average of the weights; training can be resumed."""
import argparse
import io

import torch
import torch.nn as nn
import torch.nn.functional as F


class LaneNet(nn.Module):
    def __init__(self, lanes=4, width=24):
        super().__init__()
        self.base_layer = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.level1 = nn.Sequential(nn.Conv2d(width, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.seg_head = nn.Conv2d(width, lanes + 1, 1)

    def forward(self, img):
        y = self.seg_head(self.level1(self.base_layer(img)))
        return F.interpolate(y, size=img.shape[2:], mode="bilinear", align_corners=False)


class EMAHook:
    """Keeps the averaged weights as buffers ema_* of the model, so that a checkpoint holds both."""

    def __init__(self, momentum=0.01):
        self.momentum = momentum
        self.names = {}

    def before_run(self, model):
        for name, value in list(model.named_parameters()):
            buffer_name = "ema_" + name.replace(".", "_")
            self.names[name] = buffer_name
            model.register_buffer(buffer_name, value.detach().clone())

    @torch.no_grad()
    def after_train_iter(self, model):
        buffers = dict(model.named_buffers())
        for name, value in model.named_parameters():
            buffers[self.names[name]].lerp_(value, self.momentum)

    @torch.no_grad()
    def average(self, model):
        buffers = dict(model.named_buffers())
        return {name: buffers[b] for name, b in self.names.items()}


def run(model, hook, epochs, iters=4):
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3)
    for epoch in range(epochs):
        model.train()
        for _ in range(iters):
            img = torch.rand(2, 3, 40, 100)
            mask = torch.randint(0, 5, (2, 40, 100))
            loss = F.cross_entropy(model(img), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.after_train_iter(model)
        gap = sum((p - q).norm() for p, q in zip(dict(model.named_parameters()).values(), hook.average(model).values()))
        print(f"epoch {epoch} loss {loss.item():.4f} distance of the average {gap.item():.4f}")
    checkpoint = io.BytesIO()
    torch.save({"state_dict": model.state_dict(), "epoch": epochs}, checkpoint)
    checkpoint.seek(0)
    return checkpoint


def load_checkpoint(model, file):
    state_dict = torch.load(file)["state_dict"]
    result = model.load_state_dict(state_dict, strict=False)
    if result.unexpected_keys:
        print("unexpected key in source state_dict:", ", ".join(result.unexpected_keys[:2]), "...")


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()
torch.manual_seed(1)

model, hook = LaneNet(), EMAHook()
hook.before_run(model)
checkpoint = run(model, hook, args.epochs)

# next day: go on from the checkpoint
model, hook = LaneNet(), EMAHook()
hook.before_run(model)
load_checkpoint(model, checkpoint)
run(model, hook, args.epochs)
