import torch
import torch.nn as nn
import torch.nn.functional as F


class Cosine:
    """similarities and distances between rows, for losses and for retrieval"""

    @staticmethod
    def similarity(x, y):
        return F.cosine_similarity(x, y, dim=-1)

    @staticmethod
    def similarity_matrix(x, y=None):
        y = x if y is None else y
        x_norm = F.normalize(x, p=2, dim=1)
        y_norm = F.normalize(y, p=2, dim=1)
        return x_norm @ y_norm.t()

    @classmethod
    def distance_matrix(cls, x, y=None):
        return 1 - cls.similarity_matrix(x, y)


class RankingLoss(nn.Module):
    """each question has its answer at the same row of the batch, the others are negatives"""

    def __init__(self, scale=20.0):
        super().__init__()
        self.scale = scale

    def forward(self, questions, answers):
        scores = Cosine.similarity_matrix(questions, answers) * self.scale
        return F.cross_entropy(scores, torch.arange(len(scores)))


class Tower(nn.Module):
    def __init__(self, n_in, dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return self.net(x)


def question_answer_pairs(n, n_topics=10):
    """bags of features of questions and answers that share hidden topics"""
    gen = torch.Generator().manual_seed(23)
    topics = torch.randn(n, n_topics, generator=gen)
    to_q = torch.randn(n_topics, 30, generator=gen)
    to_a = torch.randn(n_topics, 24, generator=gen)
    q = topics @ to_q + 0.3 * torch.randn(n, 30, generator=gen)
    a = topics @ to_a + 0.3 * torch.randn(n, 24, generator=gen)
    return q, a


@torch.no_grad()
def top1(question_tower, answer_tower, q, a):
    hits = 0
    answers = answer_tower(a)
    for i, vec in enumerate(question_tower(q)):
        sims = Cosine.similarity(vec.unsqueeze(0), answers)
        hits += int(sims.argmax() == i)
    return hits / len(q)


def main():
    torch.manual_seed(0)
    q, a = question_answer_pairs(700)
    train_q, train_a, test_q, test_a = q[:600], a[:600], q[600:], a[600:]
    question_tower, answer_tower = Tower(30), Tower(24)
    params = [*question_tower.parameters(), *answer_tower.parameters()]
    optimizer = torch.optim.Adam(params, lr=3e-3)
    criterion = RankingLoss()

    for epoch in range(10):
        for idx in torch.randperm(len(train_q)).split(50):
            loss = criterion(question_tower(train_q[idx]), answer_tower(train_a[idx]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 3 == 0:
            found = top1(question_tower, answer_tower, test_q, test_a)
            print("epoch %d loss %.4f answers found %.2f" % (epoch, loss.item(), found))


if __name__ == "__main__":
    main()
