import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=20, n_positions=32, n_embd=48, n_layer=2, n_head=4,
                    bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)


def batch(size=32, length=24):
    start = torch.randint(1, 20, (size, 1))
    jumps = torch.multinomial(torch.tensor([0.0, 0.7, 0.2, 0.1]), size * (length - 1), replacement=True)
    walk = torch.cat([start, jumps.view(size, -1)], dim=1).cumsum(dim=1)
    return (walk - 1) % 19 + 1


@torch.no_grad()
def sample(prompt, n_new, temperature):
    model.eval()
    ids = prompt
    for _ in range(n_new):
        logits = model(input_ids=ids).logits[:, -1]
        probs = F.softmax(logits / temperature, dim=-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
    return ids


def share_of_most_likely(ids):
    jumps = (ids[:, 1:] - ids[:, :-1]) % 19
    return (jumps == 1).float().mean().item()


model.train()
for step in range(1, 151):
    ids = batch()
    loss = model(input_ids=ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f}")

for temperature in (0.3, 1.0, 2.0):
    generated = sample(batch(64, 2), 20, temperature)
    print(f"T={temperature}: share of jumps of one {share_of_most_likely(generated):.3f}")
