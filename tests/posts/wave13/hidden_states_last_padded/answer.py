import torch
import torch.nn as nn
import torch.nn.functional as F

WARM = ['sunny', 'kind', 'glad', 'bright', 'gentle', 'merry']
COLD = ['bleak', 'cruel', 'sad', 'dim', 'harsh', 'grim']
FILLER = ['the', 'house', 'was', 'on', 'a', 'hill', 'and', 'road', 'near', 'old']
VOCAB = ['<pad>', '=', 'yes', 'no'] + WARM + COLD + FILLER
INDEX = {w: i for i, w in enumerate(VOCAB)}


def sentence(words, g):
    """two to ten words of filler with two words of the mood among them, then the sign"""
    n = int(torch.randint(2, 11, (1,), generator=g))
    out = [FILLER[int(torch.randint(len(FILLER), (1,), generator=g))] for _ in range(n)]
    for _ in range(2):
        place = int(torch.randint(0, len(out) + 1, (1,), generator=g))
        out.insert(place, words[int(torch.randint(len(words), (1,), generator=g))])
    return ' '.join(out) + ' ='


def tokenize(texts):
    ids = [torch.tensor([INDEX[w] for w in t.split()]) for t in texts]
    ids = nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=INDEX['<pad>'])
    return {'input_ids': ids, 'attention_mask': (ids != INDEX['<pad>']).long()}


class TinyLM(nn.Module):
    def __init__(self, dim=48, heads=4, layers=2, max_len=20):
        super().__init__()
        self.embed = nn.Embedding(len(VOCAB), dim)
        self.pos = nn.Embedding(max_len, dim)
        self.layers = nn.ModuleList([
            nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True)
            for _ in range(layers)])
        self.lm_head = nn.Linear(dim, len(VOCAB))

    def forward(self, input_ids, attention_mask):
        size = input_ids.shape[1]
        causal = torch.ones(size, size, dtype=torch.bool).triu(1)
        x = self.embed(input_ids) + self.pos(torch.arange(size))
        hidden_states = [x]
        for layer in self.layers:
            x = layer(x, src_mask=causal, src_key_padding_mask=attention_mask == 0)
            hidden_states.append(x)
        return self.lm_head(x), hidden_states


def train_lm(model, steps=250):
    g = torch.Generator().manual_seed(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(steps):
        texts = [sentence(WARM, g) + ' yes' if i % 2 else sentence(COLD, g) + ' no' for i in range(48)]
        batch = tokenize(texts)
        logits, _ = model(**batch)
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), batch['input_ids'][:, 1:].flatten(),
                               ignore_index=INDEX['<pad>'])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('language model loss %.3f' % loss.item())


@torch.no_grad()
def batched_get_hiddens(model, texts, hidden_layers, batch_size):
    """the state of each layer at the end of each text"""
    hidden_states = {layer: [] for layer in hidden_layers}
    for i in range(0, len(texts), batch_size):
        batch = tokenize(texts[i:i + batch_size])
        _, out = model(**batch)
        last = batch['attention_mask'].sum(dim=1) - 1
        for layer in hidden_layers:
            hidden_states[layer].append(out[layer][torch.arange(len(last)), last])
    return {layer: torch.cat(states) for layer, states in hidden_states.items()}


def main():
    torch.manual_seed(0)
    model = TinyLM()
    train_lm(model)
    model.eval()

    g = torch.Generator().manual_seed(2)
    positive = [sentence(WARM, g) for _ in range(96)]
    negative = [sentence(COLD, g) for _ in range(96)]
    hiddens = batched_get_hiddens(model, positive + negative, [1, 2], batch_size=32)
    for layer, h in hiddens.items():
        pos, neg = h[:96], h[96:]
        direction = F.normalize(pos[:48].mean(0) - neg[:48].mean(0), dim=0)
        middle = (pos[:48].mean(0) + neg[:48].mean(0)) @ direction / 2
        hits = torch.cat([pos[48:] @ direction > middle, neg[48:] @ direction < middle])
        print('layer %d: held-out texts on the right side %.2f' % (layer, hits.float().mean()))


if __name__ == '__main__':
    main()
