import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class TrajectoryDataset(Dataset):
    def __init__(self, scenes=60, obs_len=8, pred_len=8, seed=0):
        rng = np.random.default_rng(seed)
        self.obs_len = obs_len
        self.data = []
        for _ in range(scenes):
            peds = rng.integers(1, 5)
            start = rng.uniform(-5, 5, (peds, 2, 1))
            speed = rng.normal(0, 0.4, (peds, 2, 1))
            wobble = rng.normal(0, 0.05, (peds, 2, obs_len + pred_len)).cumsum(-1)
            self.data.append((start + speed * np.arange(obs_len + pred_len) + wobble).astype(np.float32))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        traj = torch.from_numpy(self.data[i])
        rel = torch.zeros_like(traj)
        rel[:, :, 1:] = traj[:, :, 1:] - traj[:, :, :-1]
        return traj[:, :, :self.obs_len], traj[:, :, self.obs_len:], rel[:, :, :self.obs_len], rel[:, :, self.obs_len:]


def seq_collate(data):
    obs, pred, obs_rel, pred_rel = zip(*data)
    lengths = [len(o) for o in obs]
    ends = np.cumsum(lengths)
    seq_start_end = [(int(e - n), int(e)) for e, n in zip(ends, lengths)]
    out = [torch.cat(t, dim=0).permute(2, 0, 1) for t in (obs, pred, obs_rel, pred_rel)]
    return out + [seq_start_end]


class Encoder(nn.Module):
    def __init__(self, embedding_dim=32, h_dim=64):
        super().__init__()
        self.h_dim, self.embedding_dim = h_dim, embedding_dim
        self.spatial_embedding = nn.Linear(2, embedding_dim)
        self.encoder = nn.LSTM(embedding_dim, h_dim)

    def forward(self, obs_traj):
        batch = obs_traj.size(1)
        emb = self.spatial_embedding(obs_traj.view(-1, 2))
        emb = emb.view(-1, batch, self.embedding_dim)
        return self.encoder(emb)[1][0]


class Decoder(nn.Module):
    def __init__(self, seq_len=8, embedding_dim=32, h_dim=64):
        super().__init__()
        self.seq_len = seq_len
        self.spatial_embedding = nn.Linear(2, embedding_dim)
        self.cell = nn.LSTMCell(embedding_dim, h_dim)
        self.hidden2pos = nn.Linear(h_dim, 2)

    def forward(self, last_pos_rel, h):
        c = torch.zeros_like(h)
        pred, rel = [], last_pos_rel
        for _ in range(self.seq_len):
            h, c = self.cell(self.spatial_embedding(rel), (h, c))
            rel = self.hidden2pos(h)
            pred.append(rel)
        return torch.stack(pred)


def main(epochs=5):
    torch.manual_seed(0)
    loader = DataLoader(TrajectoryDataset(), batch_size=8, shuffle=True, collate_fn=seq_collate)
    encoder, decoder = Encoder(), Decoder()
    params = list(encoder.parameters()) + list(decoder.parameters())
    optimizer = torch.optim.Adam(params, lr=2e-3)
    for epoch in range(epochs):
        total = 0.0
        for obs, pred, obs_rel, pred_rel, seq_start_end in loader:
            h = encoder(obs_rel)[0]
            out = decoder(obs_rel[-1], h)
            loss = sum(((out[:, s:e] - pred_rel[:, s:e]) ** 2).mean() for s, e in seq_start_end) / len(seq_start_end)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f'epoch {epoch} l2 {total / len(loader):.4f}')


if __name__ == '__main__':
    main()
