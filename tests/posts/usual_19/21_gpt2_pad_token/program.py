import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2ForSequenceClassification

VOCAB = 200
PAD = 0

random.seed(0)
torch.manual_seed(0)


def make_example():
    length = random.randint(5, 30)
    ids = torch.randint(1, VOCAB, (length,))
    return {"input_ids": ids, "label": int(ids[0] > VOCAB // 2)}


def collate(examples):
    ids = [e["input_ids"] for e in examples]
    input_ids = pad_sequence(ids, batch_first=True, padding_value=PAD)
    return {
        "input_ids": input_ids,
        "attention_mask": (input_ids != PAD).long(),
        "labels": torch.tensor([e["label"] for e in examples]),
    }


config = GPT2Config(
    vocab_size=VOCAB,
    n_positions=64,
    n_embd=48,
    n_layer=2,
    n_head=4,
    num_labels=2,
    bos_token_id=1,
    eos_token_id=1,
)
model = GPT2ForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
loader = DataLoader([make_example() for _ in range(96)], batch_size=8, shuffle=True, collate_fn=collate)

model.train()
for epoch in range(2):
    total = 0.0
    for batch in loader:
        outputs = model(**batch)
        outputs.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += outputs.loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}")
