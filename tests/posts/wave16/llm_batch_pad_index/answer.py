import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence


class WordTokenizer:
    special = ['<unk>', '<s>', '</s>', '<im_start>', '<im_end>', '<image>']

    def __init__(self, words):
        self.itos = self.special + sorted(set(words))
        self.stoi = {w: i for i, w in enumerate(self.itos)}
        self.bos_token_id, self.eos_token_id = self.stoi['<s>'], self.stoi['</s>']
        self.stoi['[PAD]'] = len(self.itos)
        self.itos.append('[PAD]')
        self.pad_token_id = self.stoi['[PAD]']

    def __call__(self, text):
        ids = [self.stoi.get(w, 0) for w in text.split()]
        return torch.tensor([self.bos_token_id] + ids)

    def decode(self, ids):
        return ' '.join(self.itos[i] for i in ids if self.itos[i] not in self.special)


class DecoderLM(nn.Module):
    def __init__(self, vocab_size, dim=48, heads=4, layers=2, max_len=40):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, dim)
        self.embed_positions = nn.Embedding(max_len, dim)
        block = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.lm_head = nn.Linear(dim, vocab_size, bias=False)

    def forward(self, ids, attention_mask):
        t = ids.shape[1]
        pos = (attention_mask.cumsum(1) - 1).clamp(min=0)
        x = self.embed_tokens(ids) + self.embed_positions(pos)
        future = torch.ones(t, t).triu(1).bool()
        blocked = future[None] | ~attention_mask.bool()[:, None, :]
        blocked = blocked & ~torch.eye(t).bool()
        x = self.layers(x, mask=blocked.repeat_interleave(4, dim=0))
        return self.lm_head(x)


STORY = ['the cat sits on the mat </s>', 'a dog runs in the park </s>',
         'what is in the picture a red car </s>', 'two birds fly over the old house </s>']


def train(model, tok, steps=120):
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for i in range(steps):
        ids = tok(STORY[i % len(STORY)])[None]
        logits = model(ids[:, :-1], torch.ones_like(ids[:, :-1]))
        loss = F.cross_entropy(logits[0], ids[0, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print('train loss %.3f' % loss.item())


def left_pad(rows, pad_index):
    flipped = [r.flip(0) for r in rows]
    ids = pad_sequence(flipped, batch_first=True, padding_value=pad_index).flip(1)
    lengths = torch.tensor([len(r) for r in rows])
    mask = torch.arange(ids.shape[1])[None] >= (ids.shape[1] - lengths)[:, None]
    return ids, mask.long()


@torch.no_grad()
def generate(model, tok, prompts, new_tokens=5):
    ids, mask = left_pad([tok(p) for p in prompts], tok.eos_token_id)
    for _ in range(new_tokens):
        nxt = model(ids, mask)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], dim=1)
        mask = torch.cat([mask, torch.ones_like(nxt)], dim=1)
    return [tok.decode(row[m.bool()].tolist()) for row, m in zip(ids, mask)]


if __name__ == '__main__':
    torch.manual_seed(0)
    tok = WordTokenizer(' '.join(STORY).replace('</s>', '').split())
    model = DecoderLM(vocab_size=len(tok.itos) - 1)
    train(model, tok)
    model.eval()
    for line in generate(model, tok, ['the cat', 'what is in the picture', 'two birds fly']):
        print(line)
