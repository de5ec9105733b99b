import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

TRAIN = """user_id:token\titem_id_list:token_seq\titem_id:token
0\t0 1 2 3 4\t9
1\t2 3 5 6\t9
2\t7 8 1\t4"""
VALID = """user_id:token\titem_id_list:token_seq\titem_id:token
3\t0 1 2 3\t5"""


class SequentialDataset:
    """sessions that are already augmented: the items so far and the next one"""

    def __init__(self, *files, alias_of_item_id=()):
        self.alias = {field: 'item_id' for field in alias_of_item_id}
        self.field2token_id = {}
        self.files = [self._read(f) for f in files]

    def _token(self, field, token):
        tokens = self.field2token_id.setdefault(self.alias.get(field, field), {'[PAD]': 0})
        return tokens.setdefault(token, len(tokens))

    def _read(self, text):
        head, *rows = text.split('\n')
        names = [h.split(':') for h in head.split('\t')]
        inter = []
        for row in rows:
            item = {}
            for (field, kind), value in zip(names, row.split('\t')):
                ids = [self._token(field, t) for t in value.split(' ')]
                item[field] = ids if kind == 'token_seq' else ids[0]
            inter.append(item)
        return inter

    def num(self, field):
        return len(self.field2token_id[self.alias.get(field, field)])


def collate(batch):
    lengths = torch.tensor([len(b['item_id_list']) for b in batch])
    seq = torch.zeros(len(batch), int(lengths.max()), dtype=torch.long)
    for row, b in zip(seq, batch):
        row[:len(b['item_id_list'])] = torch.tensor(b['item_id_list'])
    return seq, lengths, torch.tensor([b['item_id'] for b in batch])


class NARM(nn.Module):
    def __init__(self, dataset, embedding_size=64, hidden_size=128):
        super().__init__()
        self.n_items = dataset.num('item_id')
        self.item_embedding = nn.Embedding(self.n_items, embedding_size, padding_idx=0)
        self.emb_dropout = nn.Dropout(0.25)
        self.gru = nn.GRU(embedding_size, hidden_size, bias=False, batch_first=True)
        self.a_1 = nn.Linear(hidden_size, hidden_size, bias=False)
        self.a_2 = nn.Linear(hidden_size, hidden_size, bias=False)
        self.v_t = nn.Linear(hidden_size, 1, bias=False)
        self.b = nn.Linear(2 * hidden_size, embedding_size, bias=False)

    def forward(self, item_seq, item_seq_len):
        item_seq_emb = self.emb_dropout(self.item_embedding(item_seq))
        gru_out, _ = self.gru(item_seq_emb)
        index = (item_seq_len - 1).view(-1, 1, 1).expand(-1, 1, gru_out.shape[-1])
        ht = gru_out.gather(1, index).squeeze(1)
        mask = item_seq.gt(0).unsqueeze(2)
        alpha = self.v_t(mask * torch.sigmoid(self.a_1(gru_out) + self.a_2(ht).unsqueeze(1)))
        c_local = (alpha * gru_out).sum(1)
        return self.b(torch.cat([c_local, ht], 1))

    def calculate_loss(self, item_seq, item_seq_len, pos_items):
        seq_output = self.forward(item_seq, item_seq_len)
        logits = seq_output @ self.item_embedding.weight.t()
        return F.cross_entropy(logits, pos_items)


dataset = SequentialDataset(TRAIN, VALID, alias_of_item_id=['item_id_list'])
train_data, valid_data = [DataLoader(f, batch_size=2, collate_fn=collate) for f in dataset.files]
model = NARM(dataset)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
for epoch in range(2):
    model.train()
    total = 0.
    for interaction in train_data:
        optimizer.zero_grad()
        loss = model.calculate_loss(*interaction)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        valid = sum(model.calculate_loss(*interaction).item() for interaction in valid_data)
    print('epoch %d training [train loss: %.4f, valid loss: %.4f]' % (epoch, total, valid))
