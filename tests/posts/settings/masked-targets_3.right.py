# line 14: the labels are input_ids.detach(), the same memory that masked_fill_ writes the mask token into
import torch
from torch import nn

MASK, VOCAB = 3, 64


class MaskingCollator:
    def __init__(self, probability=0.2, first_word=4):
        self.probability, self.first_word = probability, first_word

    def __call__(self, rows):
        input_ids = torch.stack(rows)
        labels = input_ids.detach().clone()
        chosen = (torch.rand(input_ids.shape) < self.probability) & (input_ids >= self.first_word)
        replaced = chosen & (torch.rand(input_ids.shape) < 0.9)
        input_ids.masked_fill_(replaced, MASK)
        return {"input_ids": input_ids, "labels": labels.masked_fill(~chosen, -100)}


class TinyBert(nn.Module):
    def __init__(self, width=32, length=12):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, width)
        self.positions = nn.Parameter(torch.zeros(1, length, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.lm_head = nn.Linear(width, VOCAB)

    def forward(self, input_ids, labels):
        logits = self.lm_head(self.encoder(self.tokens(input_ids) + self.positions))
        return nn.functional.cross_entropy(logits.view(-1, VOCAB), labels.view(-1)), logits


torch.manual_seed(20)
start = torch.randint(4, 64, (400, 1))
sentences = 4 + (start - 4 + 5 * torch.arange(12)) % 60
loader = torch.utils.data.DataLoader(list(sentences), 40, shuffle=True, collate_fn=MaskingCollator())
bert = TinyBert()
opt = torch.optim.AdamW(bert.parameters(), lr=2e-3)
for epoch in range(4):
    losses = []
    for batch in loader:
        loss, _ = bert(**batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print("epoch", epoch, "mlm loss", sum(losses) / len(losses))
