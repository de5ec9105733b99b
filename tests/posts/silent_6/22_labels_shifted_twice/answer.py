import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.utils import logging

logging.set_verbosity_error()
torch.manual_seed(0)

VOCAB = 64
LENGTH = 17


class CountingSet(Dataset):
    """Runs of consecutive numbers (modulo VOCAB)."""

    def __init__(self, n):
        starts = torch.randint(0, VOCAB, (n, 1))
        self.runs = (starts + torch.arange(LENGTH)) % VOCAB

    def __len__(self):
        return len(self.runs)

    def __getitem__(self, i):
        run = self.runs[i]
        return {"input_ids": run[:-1], "labels": run[:-1]}


def build_model():
    config = GPT2Config(
        vocab_size=VOCAB,
        n_positions=32,
        n_embd=48,
        n_layer=2,
        n_head=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPT2LMHeadModel(config)


@torch.no_grad()
def continue_run(model, prompt, n):
    model.eval()
    ids = torch.tensor([prompt])
    for _ in range(n):
        logits = model(input_ids=ids).logits[:, -1]
        ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
    return ids[0].tolist()


def train(model, loader, epochs, lr):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for batch in loader:
            loss = model(input_ids=batch["input_ids"], labels=batch["labels"]).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f}")


loader = DataLoader(CountingSet(640), batch_size=32, shuffle=True)
model = build_model()
train(model, loader, epochs=5, lr=3e-3)
for prompt in ([3, 4, 5], [20, 21, 22, 23]):
    print(prompt, "->", continue_run(model, prompt, 6)[len(prompt):])
