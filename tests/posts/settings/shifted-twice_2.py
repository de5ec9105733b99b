# line 27: the labels are rolled by one before they go to LlamaForCausalLM, which shifts them itself
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

rng = np.random.default_rng(2)
torch.manual_seed(2)
settings = dict(vocab_size=24, hidden_size=32, intermediate_size=48, num_hidden_layers=1,
                num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=32,
                bos_token_id=1, eos_token_id=2, pad_token_id=0)


def dialogue():
    length = rng.integers(6, 16)
    start = rng.integers(3, 24)
    return [int((start - 3 + 2 * i) % 21 + 3) for i in range(length)]


def collate(rows):
    width = max(map(len, rows))
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for r, row in enumerate(rows):
        ids[r, : len(row)] = torch.tensor(row)
        mask[r, : len(row)] = 1
    wanted = torch.where(mask.bool(), ids, -100)
    wanted = torch.roll(wanted, shifts=-1, dims=1)
    wanted[:, -1] = -100
    return ids, mask, wanted


corpus = [dialogue() for _ in range(120)]
llama = LlamaForCausalLM(LlamaConfig(**settings))
opt = torch.optim.AdamW(llama.parameters(), lr=5e-3)
for epoch in range(3):
    order = rng.permutation(len(corpus))
    for at in range(0, len(corpus), 20):
        ids, mask, wanted = collate([corpus[i] for i in order[at : at + 20]])
        loss = llama(input_ids=ids, attention_mask=mask, labels=wanted).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
