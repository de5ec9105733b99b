import torch


def normalise(table):
    norms = torch.linalg.vector_norm(table, dim=1)
    return table / norms


def nearest(table, queries, k):
    similarity = queries @ table.t()
    return similarity.topk(k, dim=1)


def main(items, users):
    """The five nearest items of each user, by cosine."""
    torch.manual_seed(1)
    project = torch.nn.Linear(24, 16, bias=False)
    table = normalise(project(items))
    queries = normalise(project(users))
    best = nearest(table, queries, k=5)
    return best.values, best.indices


def example_inputs():
    items = torch.randn(40, 24)
    users = torch.randn(6, 24)
    return items, users
