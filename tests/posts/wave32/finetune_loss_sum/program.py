import argparse
import time

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

VOCAB = 128
BLOCK = 24


class ArithmeticTexts(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(0, VOCAB, (n, 1), generator=g)
        step = torch.randint(1, 4, (n, 1), generator=g)
        self.ids = (start + step * torch.arange(BLOCK)) % VOCAB

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "attention_mask": torch.ones(BLOCK, dtype=torch.long), "labels": self.ids[i]}


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    losses = []
    for batch in loader:
        losses.append(model(**batch).loss.repeat(batch["input_ids"].size(0)))
    loss = torch.cat(losses).mean()
    return torch.exp(loss).item(), loss.item()


def training_function(config):
    torch.manual_seed(config["seed"])
    train_loader = DataLoader(ArithmeticTexts(320, 0), batch_size=config["batch_size"], shuffle=True)
    valid_loader = DataLoader(ArithmeticTexts(64, 1), batch_size=config["batch_size"])
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=VOCAB, n_positions=BLOCK, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0,
    ))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"], betas=(0.9, 0.999))
    total = config["num_epochs"] * len(train_loader)
    scheduler = get_linear_schedule_with_warmup(optimizer, int(0.1 * total), total)

    for epoch in range(config["num_epochs"]):
        fwd_time_sum = bwd_time_sum = 0.0
        model.train()
        loss_sum = torch.tensor(0.0)
        for step, batch in enumerate(train_loader):
            s_fwd = time.time()
            outputs = model(**batch)
            loss = outputs.loss
            loss_sum += loss
            fwd_time_sum += time.time() - s_fwd

            s_bwd = time.time()
            loss.backward()
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            bwd_time_sum += time.time() - s_bwd

            if step % 10 == 0:
                print(f"[epoch {epoch} step {step}] loss: {loss.item():.4f} lr: {scheduler.get_last_lr()[0]:.5f}")

        perplexity, eval_loss = evaluate(model, valid_loader)
        print({
            "epoch": epoch,
            "train_loss": loss_sum.item() / len(train_loader),
            "eval_loss": eval_loss,
            "perplexity": perplexity,
            "fwd_time": round(fwd_time_sum, 2),
            "bwd_time": round(bwd_time_sum, 2),
        })


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num-epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    training_function({"num_epochs": args.num_epochs, "batch_size": args.batch_size, "lr": args.lr, "seed": 42})


if __name__ == "__main__":
    main()
