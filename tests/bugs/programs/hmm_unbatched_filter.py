"""Forward filtering and Viterbi for one observation sequence."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_states=3, n_symbols=5):
        super().__init__()
        self.prior = nn.Parameter(torch.zeros(n_states))
        self.trans = nn.Parameter(torch.randn(n_states, n_states))
        self.emit = nn.Parameter(torch.randn(n_states, n_symbols))

    def tables(self):
        p0 = torch.softmax(self.prior, dim=0)
        A = torch.softmax(self.trans, dim=1)
        B = torch.softmax(self.emit, dim=1)
        return p0, A, B

    def viterbi(self, obs):
        p0, A, B = (t.log() for t in self.tables())
        score = p0 + B[:, obs[0]]
        back = []
        for o in obs[1:]:
            paths = score[:, None] + A
            score, prev = paths.max(dim=0)
            score = score + B[:, o]
            back.append(prev)
        state = score.argmax()
        path = [state]
        for prev in reversed(back):
            state = prev[state]
            path.append(state)
        return torch.stack(path[::-1])

    def forward(self, obs):
        p0, A, B = self.tables()
        belief, log_like, beliefs = p0, 0.0, []
        for t, o in enumerate(obs):
            if t > 0:
                belief = belief @ A
            belief = belief * B[:, o]
            norm = belief.sum()
            belief = belief / norm
            log_like = log_like + norm.log()
            beliefs.append(belief)
        return torch.stack(beliefs), self.viterbi(obs), log_like


def example_inputs():
    return (torch.randint(0, 5, (14,)),)
