import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)

config = T5Config(
    vocab_size=120, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
    decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
)
model = T5ForConditionalGeneration(config)

src = torch.randint(2, 120, (32, 14))
tgt = src.flip(1)[:, :8].clone()
tgt[:, -1] = 1
loader = DataLoader(TensorDataset(src, tgt), batch_size=8, shuffle=True)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)


def step(src, tgt):
    out = model(input_ids=src, attention_mask=(src != 0).long())
    return torch.nn.functional.cross_entropy(
        out.logits.flatten(0, 1), tgt.flatten(), ignore_index=-100
    )


for epoch in range(2):
    for s, t in loader:
        loss = step(s, t)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss", round(loss.item(), 3))
