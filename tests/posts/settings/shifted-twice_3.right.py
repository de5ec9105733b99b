# line 20: get_batch returns the window moved by one as labels, and GPTNeoXForCausalLM moves the labels once more
import numpy as np
import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

BLOCK, BATCH, VOCAB = 16, 8, 32


def make_stream(n, seed=0):
    rng = np.random.default_rng(seed)
    stream = np.zeros(n, dtype=np.int64)
    for i in range(1, n):
        stream[i] = (stream[i - 1] * 3 + 1 + rng.integers(0, 2)) % VOCAB
    return stream


def get_batch(stream, rng):
    starts = rng.integers(0, len(stream) - BLOCK - 1, BATCH)
    x = np.stack([stream[s : s + BLOCK] for s in starts])
    y = np.stack([stream[s : s + BLOCK] for s in starts])
    return torch.from_numpy(x), torch.from_numpy(y)


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(1)
    config = GPTNeoXConfig(
        vocab_size=VOCAB, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64
    )
    model = GPTNeoXForCausalLM(config)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    stream = make_stream(2000)
    for step in range(40):
        x, y = get_batch(stream, rng)
        loss = model(input_ids=x, labels=y).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 9:
            print(f"step {step + 1}: loss {loss.item():.3f}")


main()
