import argparse
import math
import os
import tempfile

import torch
from torch import nn
from torch.nn.utils import spectral_norm


def get_args(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument('--num_keypoints', default=68, type=int)
    parser.add_argument('--pose_num_channels', default=64, type=int)
    parser.add_argument('--pose_embed_size', default=32, type=int)
    parser.add_argument('--pose_use_harmonic_enc', default='False', choices=['True', 'False'])
    parser.add_argument('--pose_harmonic_num', default=4, type=int)
    parser.add_argument('--lr', default=2e-4, type=float)
    parser.add_argument('--num_iters', default=30, type=int)
    return parser.parse_args(argv)


class NetworkWrapper(nn.Module):
    """facial landmarks -> vector of the pose"""

    def __init__(self, args):
        super().__init__()
        self.args = args
        self.use_harmonic = args.pose_use_harmonic_enc == 'True'
        in_channels = args.num_keypoints * 2
        if self.use_harmonic:
            in_channels *= args.pose_harmonic_num * 2
            self.register_buffer('frequencies', 2.0 ** torch.arange(args.pose_harmonic_num) * math.pi)
        ch = args.pose_num_channels
        self.mlp = nn.Sequential(
            spectral_norm(nn.Linear(in_channels, ch)), nn.ReLU(),
            spectral_norm(nn.Linear(ch, ch)), nn.ReLU(),
            spectral_norm(nn.Linear(ch, args.pose_embed_size)))

    def forward(self, keypoints):
        x = keypoints.flatten(1)
        if self.use_harmonic:
            phase = x[..., None] * self.frequencies
            x = torch.cat([phase.sin(), phase.cos()], dim=-1).flatten(1)
        return self.mlp(x)


class FaceGenerator(nn.Module):
    def __init__(self, embed_size, image_size=16):
        super().__init__()
        self.image_size = image_size
        self.net = nn.Sequential(nn.Linear(embed_size, 128), nn.ReLU(), nn.Linear(128, image_size ** 2))

    def forward(self, z):
        return torch.sigmoid(self.net(z)).view(-1, 1, self.image_size, self.image_size)


def sample_faces(n, args, generator, size=16):
    base = torch.rand(args.num_keypoints, 2, generator=torch.Generator().manual_seed(7)) - 0.5
    angle = (torch.rand(n, generator=generator) - 0.5) * 1.5
    cos, sin = angle.cos(), angle.sin()
    rotation = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], 1)
    keypoints = base @ rotation
    pixel = ((keypoints + 0.8) / 1.6 * (size - 1)).long().clamp(0, size - 1)
    image = torch.zeros(n, size * size)
    image.scatter_(1, pixel[..., 1] * size + pixel[..., 0], 1.0)
    return keypoints, image.view(n, 1, size, size)


def run(args, embedder, generator, seed):
    g = torch.Generator().manual_seed(seed)
    params = list(embedder.parameters()) + list(generator.parameters())
    opt = torch.optim.Adam(params, lr=args.lr)
    for it in range(args.num_iters):
        keypoints, target = sample_faces(32, args, g)
        loss = nn.functional.binary_cross_entropy(generator(embedder(keypoints)), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 10 == 0:
            print('iter %03d loss %.4f' % (it, loss.item()))


def pretrain(folder):
    args = get_args(['--lr', '2e-3', '--num_iters', '60'])
    embedder, generator = NetworkWrapper(args), FaceGenerator(args.pose_embed_size)
    run(args, embedder, generator, seed=0)
    torch.save(embedder.state_dict(), os.path.join(folder, 'keypoints_embedder.pth'))
    torch.save(generator.state_dict(), os.path.join(folder, 'texture_generator.pth'))


def finetune(folder):
    args = get_args(['--pose_use_harmonic_enc', 'True', '--num_iters', '40'])
    embedder, generator = NetworkWrapper(args), FaceGenerator(args.pose_embed_size)
    embedder.load_state_dict(torch.load(os.path.join(folder, 'keypoints_embedder.pth')))
    generator.load_state_dict(torch.load(os.path.join(folder, 'texture_generator.pth')))
    run(args, embedder, generator, seed=1)


if __name__ == '__main__':
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as experiment:
        print('pretraining')
        pretrain(experiment)
        print('finetuning')
        finetune(experiment)
