# line 16: share_embeddings loads the encoder's embedding into the decoder's with load_state_dict, which copies
import torch
import torch.nn as nn
import torch.nn.functional as F


class Seq2Seq(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.enc_emb = nn.Embedding(cfg["vocab"], cfg["dim"])
        self.dec_emb = nn.Embedding(cfg["vocab"], cfg["dim"])
        self.enc = nn.GRU(cfg["dim"], cfg["dim"], batch_first=True)
        self.dec = nn.GRU(cfg["dim"], cfg["dim"], batch_first=True)
        self.gen = nn.Linear(cfg["dim"], cfg["vocab"])
        if cfg["share_embeddings"]:
            self.dec_emb.load_state_dict(self.enc_emb.state_dict())

    def forward(self, src, tgt_in):
        _, h = self.enc(self.enc_emb(src))
        out, _ = self.dec(self.dec_emb(tgt_in), h)
        return self.gen(out)


def reversal_batch(n, length, vocab):
    src = torch.randint(1, vocab, (n, length))
    tgt = src.flip(1)
    start = torch.zeros(n, 1, dtype=torch.long)
    return src, torch.cat([start, tgt[:, :-1]], 1), tgt


cfg = {"vocab": 15, "dim": 32, "share_embeddings": True, "lr": 5e-3, "steps": 80}
torch.manual_seed(0)
net = Seq2Seq(cfg)
opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
for step in range(cfg["steps"]):
    src, tin, tout = reversal_batch(32, 6, cfg["vocab"])
    loss = F.cross_entropy(net(src, tin).flatten(0, 1), tout.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
