# %% Pre-train a tiny BERT on recipe sentences, own word-level vocabulary
import re
from collections import Counter

import numpy as np
import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(0)
np.random.seed(0)

verbs = ["chop", "fry", "boil", "bake", "grill", "mix"]
things = ["onions", "carrots", "potatoes", "chicken", "dough", "mushrooms"]
place = {"chop": "board", "fry": "pan", "boil": "pot", "bake": "oven", "grill": "fire", "mix": "bowl"}
times = ["five", "ten", "twenty", "thirty"]


def sentence():
    v = np.random.choice(verbs)
    return f"please {v} the {np.random.choice(things)} in the {place[v]} for {np.random.choice(times)} minutes ."


corpus = [sentence() for _ in range(1200)]

# %% vocabulary
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
counts = Counter(w for s in corpus for w in re.findall(r"\w+|\.", s))
itos = SPECIALS + sorted(counts)
stoi = {w: i for i, w in enumerate(itos)}
PAD, UNK, CLS, SEP, MASK = range(5)
MAX_LEN = 16


def encode(s):
    ids = [CLS] + [stoi.get(w, UNK) for w in re.findall(r"\w+|\.", s)][: MAX_LEN - 2] + [SEP]
    return ids + [PAD] * (MAX_LEN - len(ids))


data = torch.tensor([encode(s) for s in corpus])
train, valid = data[:1000], data[1000:]


# %% masking, 15 % of the real words
def mask_tokens(input_ids, p=0.15):
    labels = input_ids
    can_mask = input_ids >= len(SPECIALS)
    chosen = (torch.rand(input_ids.shape) < p) & can_mask
    roll = torch.rand(input_ids.shape)
    to_mask = chosen & (roll < 0.8)
    to_random = chosen & (roll >= 0.8) & (roll < 0.9)
    input_ids[to_mask] = MASK
    input_ids[to_random] = torch.randint(len(SPECIALS), len(itos), (int(to_random.sum()),))
    labels = labels.masked_fill(~chosen, -100)
    return input_ids, labels


def collate(rows):
    batch = torch.stack(rows)
    attention_mask = (batch != PAD).long()
    input_ids, labels = mask_tokens(batch)
    return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


train_loader = DataLoader(list(train), batch_size=32, shuffle=True, collate_fn=collate)
valid_loader = DataLoader(list(valid), batch_size=50, collate_fn=collate)

# %% model
config = BertConfig(vocab_size=len(itos), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=128, max_position_embeddings=MAX_LEN, pad_token_id=PAD)
model = BertForMaskedLM(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(6):
    model.train()
    losses = []
    for batch in train_loader:
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        val = np.mean([model(**b).loss.item() for b in valid_loader])
    print(f"epoch {epoch}: train {np.mean(losses):.3f}  valid {val:.3f}")

# %% fill in the blank
words = "please bake the dough in the [MASK] for ten minutes .".split()
ids = torch.tensor([[CLS] + [stoi[w] for w in words] + [SEP]])
with torch.no_grad():
    logits = model(input_ids=ids).logits[0, words.index("[MASK]") + 1]
for p, i in zip(*logits.softmax(-1).topk(3)):
    print(f"{itos[i]:>10}  {p:.3f}")
