import os
import pickle
import tempfile

import numpy as np
import torch
import torch.nn as nn

NUM_VERTS = 689
NUM_JOINTS = 24


def make_fake_assets(root):
    rng = np.random.RandomState(3)
    body = {
        'v_template': rng.randn(NUM_VERTS, 3).astype('float32'),
        'shapedirs': (rng.randn(NUM_VERTS, 3, 10) * 0.03).astype('float32'),
        'J_regressor': rng.dirichlet(np.ones(NUM_VERTS) * 0.05, size=NUM_JOINTS).astype('float32'),
        'garment_idx': rng.choice(NUM_VERTS, 200, replace=False),
    }
    with open(os.path.join(root, 'smpl_female.pkl'), 'wb') as f:
        pickle.dump(body, f)
    shape_dir = os.path.join(root, 't-shirt_female', 'shape')
    os.makedirs(shape_dir)
    for shape_idx in range(3):
        np.save(os.path.join(shape_dir, 'beta_%03d.npy' % shape_idx), rng.randn(300).astype('float32') * 0.5)
    style_dir = os.path.join(root, 't-shirt_female', 'style')
    os.makedirs(style_dir)
    for style_idx in range(2):
        np.save(os.path.join(style_dir, 'gamma_%03d.npy' % style_idx), rng.randn(4).astype('float32'))


class TorchBody(nn.Module):
    def __init__(self, pkl_path):
        super(TorchBody, self).__init__()
        with open(pkl_path, 'rb') as f:
            params = pickle.load(f)
        self.register_buffer('v_template', torch.from_numpy(params['v_template']))
        self.register_buffer('J_regressor', torch.from_numpy(params['J_regressor']))
        shapedirs = params['shapedirs']
        self.num_betas = shapedirs.shape[-1]
        shapedirs = np.reshape(shapedirs, [-1, self.num_betas]).T
        self.register_buffer('shapedirs', torch.from_numpy(shapedirs.copy()))
        self.garment_idx = params['garment_idx']

    def forward(self, beta, trans):
        num_batch = beta.shape[0]
        v_offset = torch.matmul(beta, self.shapedirs).view(num_batch, NUM_VERTS, 3)
        v_shaped = self.v_template.unsqueeze(0) + v_offset
        joints = torch.einsum('jv,bvc->bjc', self.J_regressor, v_shaped)
        return v_shaped + trans.unsqueeze(1), joints + trans.unsqueeze(1)


class GarmentStyle(nn.Module):
    def __init__(self, n_style, n_verts):
        super(GarmentStyle, self).__init__()
        self.mlp = nn.Sequential(nn.Linear(n_style, 32), nn.ReLU(), nn.Linear(32, n_verts * 3), nn.Tanh())

    def forward(self, gamma):
        return 0.02 * self.mlp(gamma).view(gamma.shape[0], -1, 3)


def load_sequence(root, garment, gender, shape_idx, style_idx, n_frames):
    base = os.path.join(root, '{}_{}'.format(garment, gender))
    beta = np.load(os.path.join(base, 'shape', 'beta_{:03d}.npy'.format(shape_idx)))
    gamma = np.load(os.path.join(base, 'style', 'gamma_{:03d}.npy'.format(style_idx)))
    trans = np.cumsum(np.random.randn(n_frames, 3).astype('float32') * 0.01, axis=0)
    betas = np.tile(beta[None, :10], [n_frames, 1])
    gammas = np.tile(gamma[None], [n_frames, 1])
    return torch.from_numpy(betas), torch.from_numpy(gammas), torch.from_numpy(trans)


def visualize(root, garment='t-shirt', gender='female', n_frames=100):
    body = TorchBody(os.path.join(root, 'smpl_{}.pkl'.format(gender)))
    style = GarmentStyle(4, len(body.garment_idx)).eval()
    for shape_idx in range(3):
        for style_idx in range(2):
            betas, gammas, trans = load_sequence(root, garment, gender, shape_idx, style_idx, n_frames)
            with torch.no_grad():
                verts, joints = body(betas, trans)
                cloth = verts[:, body.garment_idx] + style(gammas)
            height = (verts[..., 1].max(1)[0] - verts[..., 1].min(1)[0]).mean()
            print('shape {} style {}: height {:.3f}, cloth spread {:.3f}, pelvis {}'.format(
                shape_idx, style_idx, height.item(), cloth.std().item(), joints[0, 0].numpy().round(3)))


if __name__ == '__main__':
    np.random.seed(0)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as data_root:
        make_fake_assets(data_root)
        visualize(data_root)
