"""Images with accelerate: mixed precision, an average of weights, states by steps."""

import argparse
import os

import torch
from accelerate import Accelerator
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Dataset
from tqdm.auto import tqdm
from transformers import get_cosine_schedule_with_warmup


class Images(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return {
            "pixels": torch.rand(3, 16, 16, generator=generator),
            "label": index % 5,
        }


def build():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.GroupNorm(4, 16),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(16, 5),
    )


def evaluate(accelerator, model, loader):
    model.eval()
    guesses, labels = [], []
    for batch in loader:
        with torch.inference_mode():
            guess = model(batch["pixels"]).argmax(-1)
        guess, label = accelerator.gather_for_metrics((guess, batch["label"]))
        guesses.append(guess)
        labels.append(label)
    model.train()
    return (torch.cat(guesses) == torch.cat(labels)).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--checkpointing_steps", type=int, default=100)
    parser.add_argument("--evaluation_steps", type=int, default=60)
    options = parser.parse_args()
    accelerator = Accelerator(
        mixed_precision="bf16", gradient_accumulation_steps=2, project_dir="out"
    )
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train = DataLoader(Images(1003), 16, shuffle=True)
    test = DataLoader(Images(203), 32)
    model, optimizer, train, test = accelerator.prepare(model, optimizer, train, test)
    steps = options.epochs * -(-len(train) // accelerator.gradient_accumulation_steps)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 10, steps)
    scheduler = accelerator.prepare(scheduler)
    average = AveragedModel(
        accelerator.unwrap_model(model), multi_avg_fn=get_ema_multi_avg_fn(0.99)
    )
    accelerator.register_for_checkpointing(average)
    bar = tqdm(range(steps), disable=not accelerator.is_local_main_process)
    done = 0
    for epoch in range(options.epochs):
        model.train()
        total = 0.0
        for batch in train:
            with accelerator.accumulate(model):
                with accelerator.autocast():
                    logits = model(batch["pixels"])
                loss = nn.functional.cross_entropy(logits, batch["label"])
                total += loss.detach().float()
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                average.update_parameters(accelerator.unwrap_model(model))
                bar.update(1)
                done += 1
                if done % options.checkpointing_steps == 0:
                    accelerator.save_state(os.path.join("out", f"step_{done}"))
                if done % options.evaluation_steps == 0:
                    print(done, evaluate(accelerator, average, test))
            if done >= steps:
                break
        print(epoch, total.item() / len(train), evaluate(accelerator, model, test))
        accelerator.save_state(f"out/epoch_{epoch}")
    accelerator.load_state("out/epoch_0")
    again = accelerator.skip_first_batches(train, 10)
    print(sum(len(batch["label"]) for batch in again))
    accelerator.end_training()


if __name__ == "__main__":
    main()
