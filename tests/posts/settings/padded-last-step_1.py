# line 28: the last step of the padded output of a packed GRU is zero padding for all but the longest review
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(9)


def collate(batch):
    ids, label = zip(*batch)
    lengths = torch.tensor([len(i) for i in ids])
    return pad_sequence(ids, batch_first=True), lengths, torch.tensor(label)


class ReviewClassifier(nn.Module):
    def __init__(self, vocab=60, dim=16, hidden=24):
        super().__init__()
        self.words = nn.Embedding(vocab, dim, padding_idx=0)
        self.reader = nn.GRU(dim, hidden, batch_first=True)
        self.sentiment = nn.Linear(hidden, 2)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(
            self.words(ids), lengths, batch_first=True, enforce_sorted=False
        )
        read, _ = self.reader(packed)
        read, _ = pad_packed_sequence(read, batch_first=True)
        summary = read.select(1, read.size(1) - 1)
        return self.sentiment(summary)


reviews = []
for _ in range(120):
    label = int(torch.randint(2, (1,)))
    length = int(torch.randint(4, 15, (1,)))
    reviews.append((torch.randint(1 + 20 * label, 40 + 20 * label, (length,)), label))
loader = torch.utils.data.DataLoader(reviews, 20, shuffle=True, collate_fn=collate)
model = ReviewClassifier()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    right = 0
    for ids, lengths, label in loader:
        logits = model(ids, lengths)
        loss = nn.functional.cross_entropy(logits, label)
        opt.zero_grad()
        loss.backward()
        opt.step()
        right += (logits.argmax(-1) == label).sum().item()
    print(epoch, right / len(reviews))
