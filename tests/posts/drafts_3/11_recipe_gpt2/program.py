import random

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel

random.seed(5)
torch.manual_seed(5)

VERBS = ["chop", "boil", "fry", "mix", "bake"]
THINGS = ["onion", "rice", "egg", "flour", "carrot", "beans"]
SPECIAL = ["<pad>", "<bos>", "<eos>", "the", "then", "serve"]
VOCAB = {w: i for i, w in enumerate(SPECIAL + VERBS + THINGS)}
WORDS = {i: w for w, i in VOCAB.items()}


def write_recipe():
    words = []
    for _ in range(random.randint(2, 5)):
        words += [random.choice(VERBS), "the", random.choice(THINGS), "then"]
    return " ".join(words + ["serve"])


class RecipeDataset(Dataset):
    def __init__(self, texts):
        self.texts = texts

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, idx):
        words = ["<bos>"] + self.texts[idx].split() + ["<eos>"]
        ids = torch.tensor([VOCAB[w] for w in words])
        return {"input_ids": ids[:-1], "labels": ids[1:].clone()}


def generate(model, max_new_tokens=20):
    model.eval()
    start = torch.tensor([[VOCAB["<bos>"]]])
    out = model.generate(
        start,
        attention_mask=torch.ones_like(start),
        max_new_tokens=max_new_tokens,
        do_sample=True,
        pad_token_id=VOCAB["<pad>"],
        eos_token_id=VOCAB["<eos>"],
    )
    return " ".join(WORDS[i] for i in out[0].tolist())


def main():
    texts = [write_recipe() for _ in range(320)]
    loader = DataLoader(RecipeDataset(texts), batch_size=16, shuffle=True)

    config = GPT2Config(
        vocab_size=len(VOCAB), n_positions=64, n_embd=48, n_layer=2, n_head=4,
        bos_token_id=VOCAB["<bos>"], eos_token_id=VOCAB["<eos>"],
    )
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    for epoch in range(3):
        model.train()
        total = 0.0
        for batch in loader:
            loss = model(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.3f}")
    print(generate(model))


if __name__ == "__main__":
    main()
