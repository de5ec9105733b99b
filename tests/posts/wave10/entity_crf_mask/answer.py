import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)


class NerDataset(Dataset):
    def __init__(self, n=96, vocab=500, num_tags=3, max_seq_len=40):
        self.rows = []
        for _ in range(n):
            length = int(torch.randint(8, max_seq_len, (1,)))
            input_ids = torch.zeros(max_seq_len, dtype=torch.long)
            input_mask = torch.zeros(max_seq_len, dtype=torch.bool)
            tags = torch.zeros(max_seq_len, dtype=torch.long)
            input_ids[:length] = torch.randint(1, vocab, (length,))
            input_mask[:length] = True
            tags[:length] = torch.randint(0, num_tags, (length,))
            self.rows.append((input_ids, input_mask, tags))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class ConditionalRandomField(nn.Module):
    def __init__(self, num_tags):
        super().__init__()
        self.num_tags = num_tags
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
        self.start_transitions = nn.Parameter(torch.empty(num_tags))
        self.end_transitions = nn.Parameter(torch.empty(num_tags))
        nn.init.xavier_normal_(self.transitions)
        nn.init.normal_(self.start_transitions)
        nn.init.normal_(self.end_transitions)

    def _input_likelihood(self, logits, mask):
        b, seq_len, num_tags = logits.size()
        mask = mask.transpose(0, 1).contiguous()
        logits = logits.transpose(0, 1).contiguous()
        alpha = self.start_transitions.view(1, num_tags) + logits[0]
        for i in range(1, seq_len):
            inner = alpha.view(b, num_tags, 1) + logits[i].view(b, 1, num_tags) + self.transitions
            alpha = torch.logsumexp(inner, 1) * mask[i].view(b, 1) + alpha * (~mask[i]).view(b, 1)
        return torch.logsumexp(alpha + self.end_transitions.view(1, num_tags), 1)

    def _joint_likelihood(self, logits, tags, mask):
        b = logits.size(0)
        score = self.start_transitions[tags[:, 0]]
        emit = logits.gather(2, tags.unsqueeze(2)).squeeze(2)
        trans = self.transitions[tags[:, :-1], tags[:, 1:]]
        score = score + (emit * mask).sum(1) + (trans * mask[:, 1:]).sum(1)
        last = mask.long().sum(1) - 1
        return score + self.end_transitions[tags[torch.arange(b), last]]

    def forward(self, inputs, tags, mask):
        return torch.sum(self._joint_likelihood(inputs, tags, mask) - self._input_likelihood(inputs, mask))


class Tagger(nn.Module):
    def __init__(self, vocab=500, dim=32, hidden=32, num_tags=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.token_classifier = nn.Linear(2 * hidden, num_tags)
        self.crf_layer = ConditionalRandomField(num_tags)

    def forward(self, input_ids, input_masks, tags):
        out, _ = self.lstm(self.embed(input_ids))
        token_logits = self.token_classifier(out)
        loss = -self.crf_layer(inputs=token_logits, tags=tags, mask=input_masks) / token_logits.size(0)
        return loss


loader = DataLoader(NerDataset(), batch_size=32, shuffle=True)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for step, (input_ids, input_masks, tags) in enumerate(loader):
        optimizer.zero_grad()
        loss = model(input_ids, input_masks, tags)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        print('epoch %d step %d loss %g' % (epoch, step, loss.item()))
