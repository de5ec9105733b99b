import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

ENTITY_TYPES = ['people', 'organization', 'location', 'other']
RELATIONS = {'work_for': (0, 1), 'live_in': (0, 2), 'located_in': (2, 2)}


class Sentences(Dataset):
    """word vectors, the types of the words and the relation of every pair of words"""

    def __len__(self):
        return 16

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        words = torch.randn(10, 96, generator=g)
        return words, torch.randint(0, 4, (10,), generator=g), torch.randint(0, 2, (10, 10, 3), generator=g)


class JointModel(nn.Module):
    def __init__(self, dim=96, hidden=64):
        super().__init__()
        self.encoder = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.entity = nn.Linear(2 * hidden, len(ENTITY_TYPES))
        self.relation = nn.Bilinear(2 * hidden, 2 * hidden, len(RELATIONS))

    def forward(self, words):
        x, _ = self.encoder(words)
        n = x.shape[1]
        left = x.unsqueeze(2).expand(-1, -1, n, -1).contiguous()
        right = x.unsqueeze(1).expand(-1, n, -1, -1).contiguous()
        return self.entity(x), self.relation(left, right)


class ConstraintSolver:
    """loss of the constraint: a relation holds only between words of the right types"""

    def __init__(self, device='auto'):
        if device == 'auto':
            device = 'cuda' if torch.cuda.is_available() else 'cpu'
        self.current_device = torch.device(device)

    def entries(self, entity, relation, name):
        first, second = RELATIONS[name]
        k = list(RELATIONS).index(name)
        rel = relation[..., k].sigmoid()
        types = entity.softmax(-1)
        both = torch.min(types[:, None, first], types[None, :, second])
        return F.relu(rel - both)

    def constraint_loss(self, entity, relation, weights):
        """
        entity: [words, types], relation: [words, words, relations], weights: one for each constraint
        """
        lossList = [self.entries(entity, relation, name) for name in RELATIONS]
        lossTensor = torch.zeros(len(lossList), device=self.current_device)
        for i, l in enumerate(lossList):
            lossTensor[i] = l[l > 0].sum() / l.numel()
        return (weights * lossTensor).sum()


class PrimalDualProgram:
    def __init__(self, model, solver):
        self.solver, self.device = solver, solver.current_device
        self.model = model.to(self.device)
        self.lmbd = nn.Parameter(torch.full((len(RELATIONS),), 0.5, device=self.device))

    def train(self, loader, epochs=2, c_lr=0.05):
        opt = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        c_opt = torch.optim.SGD([self.lmbd], lr=c_lr)
        for epoch in range(epochs):
            total = 0.
            for words, types, relations in loader:
                words, types = words.to(self.device), types.to(self.device)
                relations = relations.to(self.device).float()
                entity, relation = self.model(words)
                mloss = F.cross_entropy(entity.flatten(0, 1), types.flatten())
                mloss = mloss + F.binary_cross_entropy_with_logits(relation, relations)
                closs = sum(self.solver.constraint_loss(e, r, self.lmbd) for e, r in zip(entity, relation))
                loss = mloss + closs / len(words)
                opt.zero_grad()
                c_opt.zero_grad()
                loss.backward()
                opt.step()
                self.lmbd.grad.neg_()
                c_opt.step()
                total += loss.item()
            print('epoch %d loss %.4f' % (epoch, total / len(loader)))


if __name__ == '__main__':
    torch.manual_seed(0)
    program = PrimalDualProgram(JointModel(), ConstraintSolver())
    program.train(DataLoader(Sentences(), batch_size=4, shuffle=True))
