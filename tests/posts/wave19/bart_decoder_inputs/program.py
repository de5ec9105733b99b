import argparse
import random

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BartConfig, BartForConditionalGeneration

PAD, BOS, EOS = 0, 1, 2
SUBJECTS = "storm strike court team market mayor school river".split()
VERBS = "hits closes rejects wins drops opens".split()
OBJECTS = "city factory appeal title record bridge north harbour".split()
FILLERS = "on monday officials said that after a long week many people were there and it was reported".split()


class Vocab:
    def __init__(self):
        words = ["<pad>", "<s>", "</s>"] + sorted(set(SUBJECTS + VERBS + OBJECTS + FILLERS))
        self.index = {w: i for i, w in enumerate(words)}

    def __len__(self):
        return len(self.index)

    def encode(self, words):
        return [BOS] + [self.index[w] for w in words] + [EOS]


class HeadlineDataset(Dataset):
    """An article made of filler words around a sentence; the summary is the sentence."""

    def __init__(self, n, vocab, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            summary = [rng.choice(SUBJECTS), rng.choice(VERBS), rng.choice(OBJECTS)]
            if rng.random() < 0.5:
                summary += ["after", "week"]
            before = rng.choices(FILLERS, k=rng.randint(2, 8))
            after = rng.choices(FILLERS, k=rng.randint(2, 8))
            self.rows.append((vocab.encode(before + summary + after), vocab.encode(summary)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def pad(rows, value):
    width = max(len(r) for r in rows)
    return torch.tensor([r + [value] * (width - len(r)) for r in rows])


def collate(batch):
    articles, summaries = zip(*batch)
    input_ids = pad(articles, PAD)
    targets = pad(summaries, PAD)
    targets[targets == PAD] = -100
    return {
        "input_ids": input_ids,
        "attention_mask": (input_ids != PAD).long(),
        "decoder_input_ids": targets[:, :-1].contiguous(),
        "labels": targets[:, 1:].contiguous(),
    }


@torch.no_grad()
def validation_loss(model, loader):
    model.eval()
    losses = [model(**batch).loss.item() for batch in loader]
    return sum(losses) / len(losses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.manual_seed(0)

    vocab = Vocab()
    train_loader = DataLoader(HeadlineDataset(320, vocab, 0), args.batch_size, shuffle=True, collate_fn=collate)
    val_loader = DataLoader(HeadlineDataset(64, vocab, 1), args.batch_size, collate_fn=collate)
    config = BartConfig(
        vocab_size=len(vocab), d_model=48, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96,
        max_position_embeddings=64, pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS,
        decoder_start_token_id=BOS, forced_eos_token_id=EOS,
    )
    model = BartForConditionalGeneration(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        for step, batch in enumerate(train_loader):
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            if step % 10 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.3f}")
        print(f"epoch {epoch} validation {validation_loss(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
