import random

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel

CHARS = "0123456789+="
PAD, EOS = len(CHARS), len(CHARS) + 1
STOI = {c: i for i, c in enumerate(CHARS)}
MAX_LEN = 32


def encode(text):
    return [STOI[c] for c in text]


class SumsDataset(Dataset):
    """Texts such as 7+12=19, each padded to MAX_LEN for the causal model."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.sums = [(rng.randrange(20), rng.randrange(20)) for _ in range(n)]

    def __len__(self):
        return len(self.sums)

    def __getitem__(self, i):
        a, b = self.sums[i]
        ids = encode(f"{a}+{b}={a + b}") + [EOS]
        n_pad = MAX_LEN - len(ids)
        return {
            "input_ids": torch.tensor(ids + [PAD] * n_pad),
            "attention_mask": torch.tensor([1] * len(ids) + [0] * n_pad),
        }


def collate(samples):
    batch = {k: torch.stack([s[k] for s in samples]) for k in samples[0]}
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


def build_model():
    config = GPT2Config(
        vocab_size=len(CHARS) + 2,
        n_positions=MAX_LEN,
        n_embd=48,
        n_layer=2,
        n_head=4,
        bos_token_id=EOS,
        eos_token_id=EOS,
        pad_token_id=PAD,
    )
    return GPT2LMHeadModel(config)


def mean_loss(model, loader):
    model.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for batch in loader:
            size = len(batch["input_ids"])
            total += model(**batch).loss.item() * size
            n += size
    return total / n


@torch.no_grad()
def answer(model, a, b):
    model.eval()
    ids = torch.tensor([encode(f"{a}+{b}=")])
    out = []
    for _ in range(3):
        nxt = model(input_ids=ids).logits[0, -1].argmax().item()
        if nxt >= len(CHARS):
            break
        out.append(CHARS[nxt])
        ids = torch.cat([ids, torch.tensor([[nxt]])], dim=1)
    return "".join(out)


def main():
    torch.manual_seed(50)
    train_loader = DataLoader(SumsDataset(960, 0), batch_size=48, shuffle=True, collate_fn=collate)
    val_loader = DataLoader(SumsDataset(96, 1), batch_size=48, collate_fn=collate)
    model = build_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(2):
        model.train()
        for batch in train_loader:
            loss = model(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        val = mean_loss(model, val_loader)
        print(f"epoch {epoch}: val loss {val:.4f}, perplexity {torch.tensor(val).exp().item():.3f}")
    for a, b in [(3, 4), (12, 7), (19, 19)]:
        print(f"{a}+{b}={answer(model, a, b)}")


if __name__ == "__main__":
    main()
