import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel

VOCAB = 64
PAD, EOS = 0, 1
MAX_LEN = 24


class RecipeStepsDataset(Dataset):
    """Token sequences in which every token depends on the one before it."""

    def __init__(self, n, seed):
        generator = torch.Generator().manual_seed(seed)
        self.sequences = []
        for _ in range(n):
            length = int(torch.randint(8, MAX_LEN - 1, (1,), generator=generator))
            tokens = [int(torch.randint(2, VOCAB, (1,), generator=generator))]
            for _ in range(length - 1):
                jump = 5 if torch.rand(1, generator=generator) < 0.8 else 11
                tokens.append((tokens[-1] - 2 + jump) % (VOCAB - 2) + 2)
            self.sequences.append(tokens + [EOS])

    def __len__(self):
        return len(self.sequences)

    def __getitem__(self, index):
        return self.sequences[index]


def collate(batch):
    width = max(len(tokens) for tokens in batch)
    input_ids = torch.full((len(batch), width), PAD)
    attention_mask = torch.zeros(len(batch), width, dtype=torch.long)
    for row, tokens in enumerate(batch):
        input_ids[row, :len(tokens)] = torch.tensor(tokens)
        attention_mask[row, :len(tokens)] = 1
    labels = input_ids.masked_fill(attention_mask == 0, -100)
    return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


def lm_loss(model, batch):
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    labels = batch["labels"]
    return F.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), labels[:, 1:].reshape(-1), ignore_index=-100)


@torch.no_grad()
def perplexity(model, loader, device):
    model.eval()
    losses = [lm_loss(model, {k: v.to(device) for k, v in batch.items()}) for batch in loader]
    return torch.stack(losses).mean().exp().item()


@torch.no_grad()
def continue_sequence(model, start, steps, device):
    model.eval()
    tokens = torch.tensor([start], device=device)
    for _ in range(steps):
        next_token = model(input_ids=tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, next_token], dim=1)
    return tokens[0].tolist()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config = GPT2Config(
        vocab_size=VOCAB, n_positions=MAX_LEN, n_embd=64, n_layer=2, n_head=4,
        bos_token_id=EOS, eos_token_id=EOS, pad_token_id=PAD,
    )
    model = GPT2LMHeadModel(config).to(device)
    train_loader = DataLoader(RecipeStepsDataset(400, 0), batch_size=16, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(RecipeStepsDataset(96, 1), batch_size=96, collate_fn=collate)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    for epoch in range(4):
        model.train()
        for batch in train_loader:
            loss = lm_loss(model, {k: v.to(device) for k, v in batch.items()})
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f} test ppl {perplexity(model, test_loader, device):.3f}")
    print("sample:", continue_sequence(model, [7, 12, 17], 6, device))


if __name__ == "__main__":
    main()
