"""A regression with accelerate: accumulation, clipping, gathering, saving."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def loaders():
    inputs = torch.randn(1003, 12)
    targets = inputs.sum(1, keepdim=True)
    train = TensorDataset(inputs[:803], targets[:803])
    test = TensorDataset(inputs[803:], targets[803:])
    return DataLoader(train, 32, shuffle=True), DataLoader(test, 64)


def main():
    accelerator = Accelerator(
        gradient_accumulation_steps=4, project_dir="run", log_with=None
    )
    set_seed(11)
    model = nn.Sequential(
        nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train, test = loaders()
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 1e-2, epochs=50, steps_per_epoch=len(train)
    )
    model, optimizer, train, test, scheduler = accelerator.prepare(
        model, optimizer, train, test, scheduler
    )
    for epoch in range(50):
        model.train()
        for x, y in train:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        model.eval()
        errors = []
        for x, y in test:
            with torch.no_grad():
                guess = model(x)
            guess, y = accelerator.gather_for_metrics((guess, y))
            errors.append((guess - y).abs())
        error = torch.cat(errors).mean().item()
        accelerator.print(f"epoch {epoch}: {error:.3f}")
        accelerator.save_state(f"run/epoch-{epoch}")
    accelerator.load_state("run/epoch-0")
    accelerator.wait_for_everyone()
    plain = accelerator.unwrap_model(model)
    accelerator.save(plain.state_dict(), "run/model.pt")


if __name__ == "__main__":
    main()
