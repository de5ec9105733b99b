import inspect

import torch
import torch.nn as nn
import torch.nn.functional as F


class MessagePassing(nn.Module):
    """Gathers every keyword of propagate to the edges as name_i / name_j, then sums the messages."""

    def __init__(self, node_dim=-2):
        super().__init__()
        self.node_dim = node_dim
        self.wanted = list(inspect.signature(self.message).parameters)

    def set_size(self, size, src):
        the_size = src.size(self.node_dim)
        if size is None:
            return the_size
        if size != the_size:
            raise ValueError(f"expected {size} nodes, found {the_size}")
        return size

    def propagate(self, edge_index, **kwargs):
        size, out = None, {}
        for name in self.wanted:
            if name[-2:] not in ("_i", "_j"):
                out[name] = kwargs[name]
                continue
            data = kwargs[name[:-2]]
            size = self.set_size(size, data)
            index = edge_index[1 if name.endswith("_i") else 0]
            out[name] = data.index_select(self.node_dim, index)
        msg = self.message(**out)
        result = msg.new_zeros(size, msg.size(-1))
        return result.index_add(0, edge_index[1], msg)

    def message(self, x_j):
        return x_j


class HyperTypeConv(MessagePassing):
    """Attention over neighbours, one key and one value matrix per node type."""

    def __init__(self, in_dim, out_dim, num_types):
        super().__init__()
        self.num_types = num_types
        self.key = nn.Parameter(torch.randn(num_types, in_dim, out_dim) * 0.1)
        self.value = nn.Parameter(torch.randn(num_types, in_dim, out_dim) * 0.1)
        self.query = nn.Linear(in_dim, out_dim, bias=False)
        self.skip = nn.Linear(in_dim, out_dim)

    def forward(self, emb, types, edg_idx):
        out = self.propagate(edg_idx, node_inp=emb, node_type=types.view(-1, 1))
        return self.skip(emb) + out

    def message(self, node_inp_i, node_inp_j, node_type_j):
        t = node_type_j.view(-1)
        k = torch.einsum("ed,edo->eo", node_inp_j, self.key[t])
        v = torch.einsum("ed,edo->eo", node_inp_j, self.value[t])
        gate = torch.sigmoid((self.query(node_inp_i) * k).sum(-1, keepdim=True) / k.size(-1) ** 0.5)
        return gate * v


class HyperGraphNet(nn.Module):
    def __init__(self, num_nodes, hid_dim, num_types, num_classes):
        super().__init__()
        self.embedding = nn.Embedding(num_nodes, hid_dim)
        self.conv1 = HyperTypeConv(hid_dim, hid_dim, num_types)
        self.conv2 = HyperTypeConv(hid_dim, hid_dim, num_types)
        self.classify = nn.Linear(hid_dim, num_classes)

    def forward(self, node_type_order, mask, edg_idx):
        emb = self.embedding.weight[mask]
        types = node_type_order[mask]
        x = F.relu(self.conv1(emb, types, edg_idx))
        x = F.dropout(x, 0.2, self.training)
        return self.classify(F.relu(self.conv2(x, types, edg_idx)))


def subsample(edge_index, num_nodes, keep):
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[torch.randperm(num_nodes)[:keep]] = True
    inside = mask[edge_index[0]] & mask[edge_index[1]]
    new_id = mask.long().cumsum(0) - 1
    return mask, new_id[edge_index[:, inside]]


torch.manual_seed(2)
NUM_NODES, NUM_TYPES, NUM_CLASSES = 200, 3, 2
node_type_order = torch.randint(0, NUM_TYPES, (NUM_NODES,))
labels = torch.randint(0, NUM_CLASSES, (NUM_NODES,))
edge_index = torch.randint(0, NUM_NODES, (2, 1500))

net = HyperGraphNet(NUM_NODES, 32, NUM_TYPES, NUM_CLASSES)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

for step in range(20):
    net.train()
    sub_sampled_mask, edg_idx = subsample(edge_index, NUM_NODES, 120)
    logits = net(node_type_order, sub_sampled_mask, edg_idx)
    loss = F.cross_entropy(logits, labels[sub_sampled_mask])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, round(loss.item(), 4))
