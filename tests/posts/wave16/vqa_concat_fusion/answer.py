import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class FakeVQA(Dataset):
    """question tokens, image features and the index of the answer"""

    def __init__(self, n=320, vocab=120, max_len=12, dim_v=256, n_answers=20):
        g = torch.Generator().manual_seed(11)
        self.question = torch.randint(1, vocab, (n, max_len), generator=g)
        self.answer = torch.randint(0, n_answers, (n,), generator=g)
        centers = torch.randn(n_answers, dim_v, generator=g)
        self.visual = centers[self.answer] + torch.randn(n, dim_v, generator=g)

    def __len__(self):
        return len(self.answer)

    def __getitem__(self, i):
        return {'question': self.question[i], 'visual': self.visual[i], 'answer': self.answer[i]}


class QuestionEncoder(nn.Module):
    def __init__(self, vocab, dim_emb, dim_q):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim_emb, padding_idx=0)
        self.gru = nn.GRU(dim_emb, dim_q, batch_first=True)

    def forward(self, tokens):
        _, h = self.gru(self.emb(tokens))
        return h[-1]


class SimpleFusion(nn.Module):
    """projects both modalities and merges them into one vector"""

    def __init__(self, opt):
        super().__init__()
        self.opt = opt
        self.linear_q = nn.Linear(opt['dim_q'], opt['dim_h'])
        self.linear_v = nn.Linear(opt['dim_v'], opt['dim_h'])

    def forward(self, q, v):
        q = F.dropout(q, p=self.opt['dropout'], training=self.training)
        v = F.dropout(v, p=self.opt['dropout'], training=self.training)
        x_q = torch.tanh(self.linear_q(q))
        x_v = torch.tanh(self.linear_v(v))
        return torch.cat((x_q, x_v), dim=1)


class VQANoAtt(nn.Module):
    def __init__(self, opt, vocab, n_answers):
        super().__init__()
        self.seq2vec = QuestionEncoder(vocab, 32, opt['dim_q'])
        self.fusion = SimpleFusion(opt)
        self.linear_classif = nn.Linear(2 * opt['dim_h'], n_answers)

    def forward(self, visual, question):
        q = self.seq2vec(question)
        x = self.fusion(q, visual)
        x = F.dropout(x, p=0.3, training=self.training)
        return self.linear_classif(x)


def run_epoch(loader, model, criterion, optimizer):
    model.train()
    total, correct, seen = 0.0, 0, 0
    for sample in loader:
        scores = model(sample['visual'], sample['question'])
        loss = criterion(scores, sample['answer'])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(scores)
        correct += (scores.argmax(1) == sample['answer']).sum().item()
        seen += len(scores)
    return total / seen, correct / seen


def main():
    torch.manual_seed(4)
    opt = {'dim_q': 64, 'dim_v': 256, 'dim_h': 96, 'dropout': 0.2}
    data = FakeVQA(dim_v=opt['dim_v'])
    loader = DataLoader(data, batch_size=32, shuffle=True)
    model = VQANoAtt(opt, vocab=120, n_answers=20)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(4):
        loss, acc = run_epoch(loader, model, criterion, optimizer)
        print('epoch', epoch, 'loss %.3f' % loss, 'acc@1 %.2f' % acc)


if __name__ == '__main__':
    main()
