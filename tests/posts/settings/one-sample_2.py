# line 22: the teacher's probabilities of one document (index -1 of the batch) are the target of all of them
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(19)


class Encoder(nn.Module):
    def __init__(self, vocab, width, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, width)
        self.fc = nn.Linear(width, classes)

    def forward(self, ids):
        return self.fc(torch.tanh(self.emb(ids).mean(1)))


def soft_targets(teacher, ids, temperature):
    with torch.no_grad():
        scores = teacher(ids)
    return torch.softmax(scores / temperature, dim=-1)[-1]


def soft_cross_entropy(scores, probabilities, temperature):
    return -(probabilities * F.log_softmax(scores / temperature, -1)).sum(-1).mean()


VOCAB, CLASSES, T = 100, 4, 2.0
docs = torch.randint(VOCAB, (320, 15))
labels = docs[:, 0] % CLASSES
teacher, student = Encoder(VOCAB, 32, CLASSES), Encoder(VOCAB, 8, CLASSES)
opt = torch.optim.Adam(teacher.parameters(), lr=0.02)
for _ in range(5):
    for i in torch.randperm(320).split(40):
        opt.zero_grad()
        F.cross_entropy(teacher(docs[i]), labels[i]).backward()
        opt.step()
teacher.eval()

opt = torch.optim.Adam(student.parameters(), lr=0.02)
for epoch in range(5):
    for i in torch.randperm(320).split(40):
        p = soft_targets(teacher, docs[i], T)
        loss = T * T * soft_cross_entropy(student(docs[i]), p, T)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
