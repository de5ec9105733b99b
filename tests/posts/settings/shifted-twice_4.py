# line 29: the collate function pads ids[:, 1:] to the labels, though the OPT model itself compares each position with the label behind it
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from transformers import OPTConfig, OPTForCausalLM

PAD = 1


class RecipeTokens(torch.utils.data.Dataset):
    def __init__(self, n):
        self.rows = []
        for _ in range(n):
            start = int(torch.randint(3, 40, ()))
            length = int(torch.randint(6, 14, ()))
            self.rows.append(3 + (start + 2 * torch.arange(length)) % 37)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    input_ids = pad_sequence(rows, batch_first=True, padding_value=PAD)
    attention_mask = (input_ids != PAD).long()
    labels = input_ids.masked_fill(attention_mask == 0, -100)
    labels = F.pad(labels[:, 1:], (0, 1), value=-100)
    return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


torch.manual_seed(66)
config = OPTConfig(
    vocab_size=40, hidden_size=32, word_embed_proj_dim=32, ffn_dim=64, num_hidden_layers=1, num_attention_heads=4,
    max_position_embeddings=32, dropout=0.0, pad_token_id=PAD,
)
model = OPTForCausalLM(config)
loader = torch.utils.data.DataLoader(RecipeTokens(160), batch_size=16, shuffle=True, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
model.train()
for epoch in range(4):
    losses = []
    for batch in loader:
        outputs = model(**batch)
        optimizer.zero_grad()
        outputs.loss.backward()
        optimizer.step()
        losses.append(outputs.loss.item())
    print("epoch", epoch, "loss", sum(losses) / len(losses))
