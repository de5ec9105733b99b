"""Plain PyTorch: an average of weights, a scaler, batch norm counted anew, resumed."""

import copy

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    half = torch.float16 if device == "cuda" else torch.bfloat16
    images, labels = torch.randn(803, 1, 12, 12), torch.randint(0, 10, (803,))
    train = DataLoader(TensorDataset(images, labels), 64, shuffle=True)
    test = DataLoader(TensorDataset(images[:200], labels[:200]), 64)
    model = build().to(device)
    slow = copy.deepcopy(model).requires_grad_(False)
    swa = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
    constant = SWALR(optimizer, swa_lr=0.05)
    scaler = torch.amp.GradScaler(device, enabled=device == "cuda")
    step, accumulate = 0, 2
    for epoch in range(20):
        model.train()
        for index, (x, y) in enumerate(train):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            with torch.autocast(device, half):
                loss = nn.functional.cross_entropy(model(x), y) / accumulate
            scaler.scale(loss).backward()
            if (index + 1) % accumulate == 0 or index + 1 == len(train):
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad(set_to_none=True)
                step += 1
                with torch.no_grad():
                    pairs = zip(slow.parameters(), model.parameters(), strict=True)
                    for old, new in pairs:
                        old.lerp_(new, 0.01)
                    for old, new in zip(slow.buffers(), model.buffers(), strict=True):
                        old.copy_(new)
        if epoch >= 15:
            swa.update_parameters(model)
            constant.step()
        else:
            cosine.step()
        slow.eval()
        right = 0
        with torch.inference_mode():
            for x, y in test:
                right += (slow(x.to(device)).argmax(1) == y.to(device)).sum().item()
        print(epoch, step, right / 200)
        torch.save(
            {
                "model": model.state_dict(),
                "slow": slow.state_dict(),
                "swa": swa.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scaler": scaler.state_dict(),
                "epoch": epoch,
            },
            "last.pt",
        )
    update_bn(train, swa, device=device)
    state = torch.load("last.pt", map_location=device)
    again = build().to(device)
    again.load_state_dict(state["slow"])
    swa.load_state_dict(state["swa"])
    optimizer.load_state_dict(state["optimizer"])
    scaler.load_state_dict(state["scaler"])
    swa.eval()
    print(swa(images[:4].to(device)).shape, state["epoch"])


if __name__ == "__main__":
    main()
