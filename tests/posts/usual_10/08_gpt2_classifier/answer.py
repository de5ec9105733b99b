import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2ForSequenceClassification, get_linear_schedule_with_warmup

POS = "great lovely superb fun moving clever warm fresh".split()
NEG = "dull awful slow noisy stale clumsy cold boring".split()
FILL = "the film was and plot with acting a very quite scene music ending".split()
LABELS = ["negative", "positive"]


def synth_review(rng):
    y = rng.randint(0, 1)
    words = [rng.choice(FILL) for _ in range(rng.randint(4, 14))]
    for _ in range(3):
        words.insert(rng.randrange(len(words) + 1), rng.choice(POS if y else NEG))
    return " ".join(words), y


class WordTokenizer:
    def __init__(self, words):
        self.itos = ["<pad>", "<unk>", "<eos>"] + sorted(set(words))
        self.stoi = {w: i for i, w in enumerate(self.itos)}
        self.pad_id, self.unk_id, self.eos_id = 0, 1, 2

    def __len__(self):
        return len(self.itos)

    def __call__(self, text):
        return [self.stoi.get(w, self.unk_id) for w in text.split()] + [self.eos_id]


class Collator:
    def __init__(self, tok):
        self.tok = tok

    def __call__(self, rows):
        ids = [torch.tensor(self.tok(t)) for t, _ in rows]
        mask = [torch.ones_like(i) for i in ids]
        return {
            "input_ids": pad_sequence(ids, batch_first=True, padding_value=self.tok.pad_id),
            "attention_mask": pad_sequence(mask, batch_first=True),
            "labels": torch.tensor([y for _, y in rows]),
        }


def build_model(tok):
    config = GPT2Config(
        vocab_size=len(tok), n_positions=64, n_embd=64, n_layer=2, n_head=4,
        num_labels=len(LABELS), bos_token_id=tok.eos_id, eos_token_id=tok.eos_id,
        pad_token_id=tok.pad_id,
    )
    return GPT2ForSequenceClassification(config)


def main():
    rng = random.Random(5)
    torch.manual_seed(5)
    data = [synth_review(rng) for _ in range(500)]
    tok = WordTokenizer(POS + NEG + FILL)
    collate = Collator(tok)
    train_dl = DataLoader(data[:400], batch_size=16, shuffle=True, collate_fn=collate)
    eval_dl = DataLoader(data[400:], batch_size=32, collate_fn=collate)

    model = build_model(tok)
    epochs = 2
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sched = get_linear_schedule_with_warmup(opt, 5, epochs * len(train_dl))
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for batch in train_dl:
            out = model(**batch)
            out.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            running += out.loss.item() * len(batch["labels"])
        model.eval()
        hits = 0
        with torch.no_grad():
            for batch in eval_dl:
                hits += (model(**batch).logits.argmax(-1) == batch["labels"]).sum().item()
        print(f"epoch {epoch} train loss {running / 400:.4f} eval acc {hits / 100:.3f}")


if __name__ == "__main__":
    main()
