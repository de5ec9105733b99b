import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

CKPT = "last.ckpt"
TOTAL_EPOCHS = 6

torch.manual_seed(0)
x = torch.randn(320, 8)
y = torch.sin(x).sum(1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)


def build(last_epoch=-1, checkpoint=None):
    model = nn.Sequential(nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    if checkpoint is not None:
        model.load_state_dict(checkpoint["model"])
    scheduler = CosineAnnealingLR(optimizer, T_max=TOTAL_EPOCHS, last_epoch=last_epoch)
    return model, optimizer, scheduler


def run(model, optimizer, scheduler, start, stop):
    for epoch in range(start, stop):
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        torch.save(
            {"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, CKPT
        )
        print(f"epoch {epoch} loss {total / len(loader):.4f} lr {scheduler.get_last_lr()[0]:.5f}")


run(*build(), start=0, stop=3)

checkpoint = torch.load(CKPT)
print("resuming after epoch", checkpoint["epoch"])
resumed = build(last_epoch=checkpoint["epoch"], checkpoint=checkpoint)
run(*resumed, start=checkpoint["epoch"] + 1, stop=TOTAL_EPOCHS)
