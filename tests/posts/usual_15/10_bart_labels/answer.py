"""Fine-tuning a small BART on product titles (noisy -> clean)."""
import random
import torch
from torch.utils.data import Dataset, DataLoader
from transformers import BartConfig, BartForConditionalGeneration, get_linear_schedule_with_warmup

PAD, BOS, EOS = 1, 0, 2
CHARS = "abcdefghijklmnopqrstuvwxyz 0123456789"
VOCAB = {c: i + 4 for i, c in enumerate(CHARS)}
WORDS = ["steel", "kettle", "garden", "hose", "lamp", "led", "bike", "tyre", "usb", "cable", "mug", "chair"]


def encode(text):
    return [BOS] + [VOCAB[c] for c in text] + [EOS]


class TitlePairs(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.pairs = []
        for _ in range(n):
            clean = " ".join(rng.sample(WORDS, rng.randint(2, 4)))
            noisy = "".join(c + (c if rng.random() < 0.1 else "") for c in clean)
            self.pairs.append((noisy, clean))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        noisy, clean = self.pairs[i]
        return {"input_ids": encode(noisy), "labels": encode(clean)}


def pad(seqs, value):
    width = max(len(s) for s in seqs)
    return torch.tensor([s + [value] * (width - len(s)) for s in seqs])


def collate(batch):
    input_ids = pad([b["input_ids"] for b in batch], PAD)
    labels = pad([b["labels"] for b in batch], -100)
    return {
        "input_ids": input_ids,
        "attention_mask": (input_ids != PAD).long(),
        "decoder_input_ids": labels[:, :-1].masked_fill(labels[:, :-1] == -100, PAD),
        "labels": labels[:, 1:].contiguous(),
    }


def build_model():
    config = BartConfig(
        vocab_size=len(VOCAB) + 4, d_model=48, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96,
        max_position_embeddings=96, pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS,
        decoder_start_token_id=BOS, forced_eos_token_id=None,
    )
    return BartForConditionalGeneration(config)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(TitlePairs(480, 0), batch_size=32, shuffle=True, collate_fn=collate)
    val_loader = DataLoader(TitlePairs(96, 1), batch_size=32, collate_fn=collate)
    model = build_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    total = 3 * len(train_loader)
    scheduler = get_linear_schedule_with_warmup(optimizer, total // 10, total)
    for epoch in range(3):
        model.train()
        for batch in train_loader:
            out = model(**batch)
            optimizer.zero_grad()
            out.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            val = sum(model(**b).loss.item() for b in val_loader) / len(val_loader)
        print(f"epoch {epoch}  train {out.loss.item():.3f}  val {val:.3f}")


if __name__ == "__main__":
    main()
