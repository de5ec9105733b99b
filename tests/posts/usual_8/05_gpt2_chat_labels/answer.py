"""Train a small GPT-2 (from a config, no weights) on arithmetic drills written by our generator."""
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.data import Dataset, DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup


@dataclass
class Args:
    block: int = 12
    batch: int = 64
    epochs: int = 6
    lr: float = 3e-3
    seed: int = 42


class CharTokenizer:
    def __init__(self, chars):
        self.chars = ["<pad>", "<eos>"] + sorted(chars)
        self.index = {c: i for i, c in enumerate(self.chars)}
        self.pad, self.eos = 0, 1

    def __len__(self):
        return len(self.chars)

    def encode(self, text):
        return [self.index[c] for c in text]

    def decode(self, ids):
        return "".join(self.chars[i] for i in ids if i > 1)


class Drills(Dataset):
    """count-ups such as 'abcdefgh': each letter follows from the one before it"""

    def __init__(self, tok, n, block, rng):
        self.rows = []
        for _ in range(n):
            start, length = rng.integers(26), rng.integers(5, 10)
            text = "".join(chr(97 + (start + k) % 26) for k in range(length))
            self.rows.append(tok.encode(text) + [tok.eos])
        self.tok, self.block = tok, block

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = self.rows[i]
        n_pad = self.block - len(ids)
        inputs = ids + [self.tok.pad] * n_pad
        labels = ids + [-100] * n_pad
        mask = [1] * len(ids) + [0] * n_pad
        return {"input_ids": torch.tensor(inputs), "attention_mask": torch.tensor(mask),
                "labels": torch.tensor(labels)}


@torch.no_grad()
def complete(model, tok, prompt, steps=6):
    model.eval()
    ids = torch.tensor([tok.encode(prompt)])
    for _ in range(steps):
        nxt = model(input_ids=ids).logits[:, -1].argmax(-1, keepdim=True)
        if nxt.item() == tok.eos:
            break
        ids = torch.cat([ids, nxt], dim=1)
    return tok.decode(ids[0].tolist())


def main(args: Args):
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    tok = CharTokenizer("abcdefghijklmnopqrstuvwxyz")
    loader = DataLoader(Drills(tok, 1500, args.block, rng), batch_size=args.batch, shuffle=True)

    cfg = GPT2Config(vocab_size=len(tok), n_positions=args.block, n_embd=64, n_layer=2, n_head=4,
                     bos_token_id=tok.eos, eos_token_id=tok.eos,
                     resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model = GPT2LMHeadModel(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = get_linear_schedule_with_warmup(opt, 20, args.epochs * len(loader))

    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for batch in loader:
            out = model(**batch)
            out.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            running += out.loss.item()
        print(f"epoch {epoch} loss {running / len(loader):.4f}")

    for prompt in ("abc", "mno", "wxy"):
        print(prompt, "->", complete(model, tok, prompt))


if __name__ == "__main__":
    main(Args())
