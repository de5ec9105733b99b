import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
PAD, EOS = 0, 1

config = GPT2Config(vocab_size=60, n_positions=64, n_embd=32, n_layer=2, n_head=4,
                    bos_token_id=EOS, eos_token_id=EOS, pad_token_id=PAD)
model = GPT2LMHeadModel(config)


def counting_batch(n, length):
    start = torch.randint(2, 30, (n, 1))
    return (start + torch.arange(length) - 2) % 58 + 2


optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
model.train()
for step in range(25):
    ids = counting_batch(16, 32)
    loss = model(input_ids=ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("train loss", round(loss.item(), 4))

model.eval()
prompt = counting_batch(2, 24)
generated = model.generate(
    prompt,
    attention_mask=torch.ones_like(prompt),
    max_new_tokens=20,
    do_sample=False,
)
for row, p in zip(generated, prompt):
    print(p[-4:].tolist(), "->", row[prompt.shape[1]:].tolist())
