# line 18: the masking helper writes into the batch in place, and the labels are a where() of the same, already masked tensor
import torch
import torch.nn as nn


class MaskingCollator:
    def __init__(self, mask_token, vocab, p=0.15):
        self.mask_token, self.vocab, self.p = mask_token, vocab, p

    def corrupt(self, seqs, picked):
        seqs.masked_fill_(picked, self.mask_token)
        return seqs

    def __call__(self, rows):
        seqs = torch.stack(rows)
        picked = torch.rand(seqs.shape) < self.p
        inputs = self.corrupt(seqs, picked)
        labels = torch.where(picked, seqs, torch.tensor(-100))
        return inputs, labels


class BertLike(nn.Module):
    def __init__(self, vocab, d=24):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Parameter(torch.zeros(16, d))
        self.enc = nn.TransformerEncoderLayer(d, 4, 48, dropout=0.0, batch_first=True)
        self.mlm = nn.Linear(d, vocab)

    def forward(self, ids):
        return self.mlm(self.enc(self.tok(ids) + self.pos))


torch.manual_seed(0)
data = [(s + torch.arange(16)) % 20 for s in torch.randint(20, (200,))]
loader = torch.utils.data.DataLoader(data, 25, shuffle=True, collate_fn=MaskingCollator(20, 21))
net = BertLike(21)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
crit = nn.CrossEntropyLoss(ignore_index=-100)
for epoch in range(3):
    for ids, labels in loader:
        loss = crit(net(ids).view(-1, 21), labels.view(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
