import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

FUTURE_FRAME_NUM = 30
HIDDEN = 128


class MLP(nn.Module):
    def __init__(self, hidden_size, out_features=None):
        super().__init__()
        self.linear = nn.Linear(hidden_size, out_features or hidden_size)
        self.layer_norm = nn.LayerNorm(out_features or hidden_size)

    def forward(self, x):
        return F.relu(self.layer_norm(self.linear(x)))


class DecoderResCat(nn.Module):
    def __init__(self, hidden_size, in_features, out_features):
        super().__init__()
        self.mlp = MLP(in_features, hidden_size)
        self.fc = nn.Linear(hidden_size + in_features, out_features)

    def forward(self, x):
        return self.fc(torch.cat([x, self.mlp(x)], dim=-1))


class CrossAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.query, self.key = nn.Linear(hidden_size, hidden_size), nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)

    def forward(self, query, memory):
        scores = self.query(query) @ self.key(memory).transpose(-1, -2) / HIDDEN ** 0.5
        return scores.softmax(-1) @ self.value(memory)


class GoalDecoder(nn.Module):
    def __init__(self, hidden_size=HIDDEN):
        super().__init__()
        self.goal_encoder = nn.Sequential(MLP(2, hidden_size), MLP(hidden_size))
        self.goal_cross_attention = CrossAttention(hidden_size)
        self.goal_scorer = DecoderResCat(hidden_size, hidden_size * 3, 1)
        self.target_mlps = nn.Sequential(MLP(2, hidden_size), MLP(hidden_size), MLP(hidden_size))
        self.complete_traj_cross_attention = CrossAttention(hidden_size)
        self.complete_traj_decoder = DecoderResCat(hidden_size, hidden_size * 3, FUTURE_FRAME_NUM * 2)

    def get_scores(self, goals, inputs, agent):
        hidden = self.goal_encoder(goals)
        attention = self.goal_cross_attention(hidden, inputs)
        x = torch.cat([agent.expand_as(hidden), hidden, attention], dim=-1)
        return F.log_softmax(self.goal_scorer(x).squeeze(-1), dim=-1)

    def trajectory_loss(self, gt_points, inputs, agent):
        target_feature = self.target_mlps(gt_points[-1])
        attention = self.complete_traj_cross_attention(target_feature.unsqueeze(0), inputs.detach()).squeeze(0)
        predict_traj = self.complete_traj_decoder(
            torch.cat([agent.detach(), target_feature, attention], dim=-1)).view(FUTURE_FRAME_NUM, 2)
        return F.smooth_l1_loss(predict_traj, gt_points)

    def forward(self, mapping, inputs, lengths, hidden_states):
        loss = torch.zeros(len(mapping), device=inputs.device)
        for i, each in enumerate(mapping):
            valid, agent = inputs[i][:lengths[i]], hidden_states[i, 0]
            scores = self.get_scores(each['goals_2D'].to(inputs.device), valid, agent)
            label = torch.tensor([each['goals_2D_labels']], device=inputs.device)
            loss[i] += F.nll_loss(scores.unsqueeze(0), label)
            loss[i] += self.trajectory_loss(each['labels'].to(inputs.device), valid, agent)
        return loss.mean()


class VectorNet(nn.Module):
    def __init__(self, hidden_size=HIDDEN):
        super().__init__()
        self.point_level = nn.Sequential(MLP(16, hidden_size), MLP(hidden_size))
        self.global_graph = nn.TransformerEncoderLayer(hidden_size, 4, 256, 0.1, batch_first=True)
        self.decoder = GoalDecoder(hidden_size)

    def forward(self, mapping, device):
        polylines = [torch.stack([self.point_level(p.to(device)).max(0)[0] for p in each['polylines']])
                     for each in mapping]
        lengths = [len(p) for p in polylines]
        inputs = pad_sequence(polylines, batch_first=True)
        pad = torch.arange(inputs.shape[1], device=device)[None] >= torch.tensor(lengths, device=device)[:, None]
        hidden_states = self.global_graph(inputs, src_key_padding_mask=pad)
        return self.decoder(mapping, inputs, lengths, hidden_states)


def make_mapping(rng):
    steps = np.cumsum(rng.rand(FUTURE_FRAME_NUM, 2) * 0.1, axis=0).astype(np.float32)
    goals = (steps[-1] + rng.randn(64, 2)).astype(np.float32)
    return {'polylines': [torch.from_numpy(rng.randn(rng.randint(4, 10), 16).astype(np.float32))
                          for _ in range(rng.randint(6, 12))],
            'goals_2D': torch.from_numpy(goals), 'labels': torch.from_numpy(steps),
            'goals_2D_labels': int(np.argmin(((goals - steps[-1]) ** 2).sum(1)))}


if __name__ == '__main__':
    rng = np.random.RandomState(0)
    torch.manual_seed(0)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    train_set = [make_mapping(rng) for _ in range(16)]
    model = VectorNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    for i_epoch in range(2):
        for step in range(0, len(train_set), 8):
            loss = model(train_set[step:step + 8], device)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print('epoch %d loss %.4f' % (i_epoch, loss.item()))
