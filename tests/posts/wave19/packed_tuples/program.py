import argparse
import random
from functools import partial
from typing import Dict, List

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

IGNORE_INDEX = -100


class ByteTokenizer:
    pad_id, bos_id, eos_id = 256, 257, 258
    vocab_size = 259

    def encode(self, text):
        return [self.bos_id] + list(text.encode("utf-8")) + [self.eos_id]


class TextCompletionDataset(Dataset):
    """Free text, one document per item; every token is predicted."""

    def __init__(self, tokenizer, documents, column="text", max_seq_len=64):
        self.tokenizer = tokenizer
        self.documents = documents
        self.column = column
        self.max_seq_len = max_seq_len

    def __len__(self):
        return len(self.documents)

    def __getitem__(self, i):
        tokens = self.tokenizer.encode(self.documents[i][self.column])[: self.max_seq_len]
        labels = tokens.copy()
        return tokens, labels


def padded_collate(batch: List[Dict[str, List[int]]], padding_idx: int, ignore_idx: int = IGNORE_INDEX):
    input_ids = pad_sequence([torch.tensor(x["tokens"]) for x in batch],
                             batch_first=True, padding_value=padding_idx)
    labels = pad_sequence([torch.tensor(x["labels"]) for x in batch],
                          batch_first=True, padding_value=ignore_idx)
    return {"tokens": input_ids, "labels": labels}


class TinyLM(nn.Module):
    def __init__(self, vocab_size, dim=64, heads=4, layers=2, max_len=64):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, dim)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab_size)

    def forward(self, tokens):
        t = tokens.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(t)
        x = self.tok(tokens) + self.pos(torch.arange(t))
        return self.out(self.norm(self.blocks(x, mask=mask, is_causal=True)))


def make_documents(n, seed=0):
    rng = random.Random(seed)
    people, places = ["Ana", "Boris", "Chen", "Dora"], ["the lake", "the office", "Lisbon", "the market"]
    verbs = ["went to", "left", "wrote about", "called from"]
    return [{"text": f"{rng.choice(people)} {rng.choice(verbs)} {rng.choice(places)}."} for _ in range(n)]


class FullFinetuneRecipe:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        self.tokenizer = ByteTokenizer()
        self.model = TinyLM(self.tokenizer.vocab_size, max_len=cfg.max_seq_len)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)
        dataset = TextCompletionDataset(self.tokenizer, make_documents(cfg.n_docs), max_seq_len=cfg.max_seq_len)
        self.dataloader = DataLoader(
            dataset,
            batch_size=cfg.batch_size,
            shuffle=True,
            collate_fn=partial(padded_collate, padding_idx=self.tokenizer.pad_id),
        )

    def loss_step(self, batch):
        logits = self.model(batch["tokens"])
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), batch["labels"][:, 1:].flatten(),
                               ignore_index=IGNORE_INDEX)

    def train(self):
        self.model.train()
        for epoch in range(self.cfg.epochs):
            for step, batch in enumerate(self.dataloader):
                loss = self.loss_step(batch)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                if step % 10 == 0:
                    print(f"{epoch}|{step}|loss: {loss.item():.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--n_docs", type=int, default=320)
    parser.add_argument("--max_seq_len", type=int, default=64)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    FullFinetuneRecipe(parser.parse_args()).train()
