import torch
import torch.nn as nn
import torch.nn.functional as F


class BackboneMixin(nn.Module):
    """a shared trunk"""

    def __init__(self, input_dim, hidden_dim):
        nn.Module.__init__(self)
        self.trunk = nn.Sequential(nn.Linear(input_dim, hidden_dim), nn.ReLU(),
                                   nn.Linear(hidden_dim, hidden_dim), nn.ReLU())

    def features(self, x):
        return self.trunk(x)


class MaskMixin(nn.Module):
    """one gate over the hidden units for every task"""

    def __init__(self, hidden_dim, num_tasks):
        nn.Module.__init__(self)
        self.task_embedding = nn.Embedding(num_tasks, hidden_dim)
        nn.init.normal_(self.task_embedding.weight)

    def gate(self, task_id, scale=10.0):
        return torch.sigmoid(scale * self.task_embedding(task_id))


class MaskedContinualNet(BackboneMixin, MaskMixin):
    def __init__(self, input_dim=64, hidden_dim=128, num_tasks=5, num_classes=10):
        BackboneMixin.__init__(self, input_dim, hidden_dim)
        MaskMixin.__init__(self, hidden_dim, num_tasks)
        self.heads = nn.ModuleList([nn.Linear(hidden_dim, num_classes) for _ in range(num_tasks)])

    def forward(self, x, task_id):
        hidden = self.features(x) * self.gate(task_id)
        logits = torch.stack([head(hidden) for head in self.heads], dim=1)
        index = task_id.view(-1, 1, 1).expand(-1, 1, logits.size(-1))
        return F.log_softmax(logits.gather(1, index).squeeze(1), dim=1)
