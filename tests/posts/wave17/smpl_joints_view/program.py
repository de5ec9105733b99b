import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

PARENTS = torch.tensor([-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 9, 9])


def axis_angle_to_matrix(vec):
    theta = (vec.pow(2).sum(-1, keepdim=True) + 1e-12).sqrt()
    x, y, z = (vec / theta).unbind(-1)
    o = torch.zeros_like(x)
    cross = torch.stack([o, -z, y, z, o, -x, -y, x, o], dim=-1).reshape(-1, 3, 3)
    theta = theta.unsqueeze(-1)
    return torch.eye(3) + theta.sin() * cross + (1 - theta.cos()) * (cross @ cross)


def regress_joints(weights, verts):
    return torch.einsum('bvx,nv->bnx', verts, weights)


def homogeneous(rotation, offset):
    upper = torch.cat([rotation, offset], dim=-1)
    lower = torch.tensor([[0.0, 0.0, 0.0, 1.0]]).expand(len(upper), 1, 4)
    return torch.cat([upper, lower], dim=1)


def forward_kinematics(rotations, rest, parents):
    n_batch, n_joints = rest.shape[:2]
    bones = rest.clone()
    bones[:, 1:] -= rest[:, parents[1:]]

    flat_bones = bones.view(-1, 3, 1)
    local = homogeneous(rotations, flat_bones).view(n_batch, n_joints, 4, 4)
    world = [local[:, 0]]
    for child in range(1, n_joints):
        world.append(world[parents[child]] @ local[:, child])
    world = torch.stack(world, dim=1)
    posed = world[:, :, :3, 3]

    moved = (world[..., :3, :3] @ rest.unsqueeze(-1)).squeeze(-1)
    skinning = torch.cat([world[..., :3], F.pad(posed - moved, [0, 1], value=1.0).unsqueeze(-1)], dim=-1)
    return posed, skinning


def skin(betas, pose, template, blend_shapes, joint_weights, parents, skin_weights):
    shaped = template + torch.einsum('bs,vxs->bvx', betas, blend_shapes)
    rest = regress_joints(joint_weights, shaped)
    rotations = axis_angle_to_matrix(pose.view(-1, 3))
    posed, per_joint = forward_kinematics(rotations, rest, parents)
    per_vertex = torch.einsum('vn,bnij->bvij', skin_weights, per_joint)
    verts = per_vertex @ F.pad(shaped, [0, 1], value=1.0).unsqueeze(-1)
    return verts[:, :, :3, 0], posed


class BodyModel(nn.Module):
    def __init__(self, num_vertices=300, num_betas=6, seed=0):
        super().__init__()
        g = torch.Generator().manual_seed(seed)
        n = len(PARENTS)
        self.register_buffer('template', torch.randn(num_vertices, 3, generator=g) * torch.tensor([0.3, 0.8, 0.2]))
        self.register_buffer('blend_shapes', 0.03 * torch.randn(num_vertices, 3, num_betas, generator=g))
        self.register_buffer('joint_weights', torch.softmax(4 * torch.randn(n, num_vertices, generator=g), 1))
        self.register_buffer('skin_weights', torch.softmax(4 * torch.randn(num_vertices, n, generator=g), 1))
        self.parents = PARENTS
        self.num_betas, self.num_joints = num_betas, n

    def forward(self, betas, pose, transl):
        vertices, joints = skin(betas, pose, self.template, self.blend_shapes, self.joint_weights,
                                self.parents, self.skin_weights)
        return vertices + transl[:, None], joints + transl[:, None]


def project(points, focal=500.0, centre=128.0):
    return focal * points[..., :2] / (points[..., 2:] + 4.0) + centre


def fit(body, keypoints, steps, lr):
    batch_size = len(keypoints)
    betas = torch.zeros(batch_size, body.num_betas, requires_grad=True)
    pose = torch.zeros(batch_size, body.num_joints * 3, requires_grad=True)
    transl = torch.zeros(batch_size, 3, requires_grad=True)
    optimizer = torch.optim.Adam([betas, pose, transl], lr=lr)
    for step in range(steps):
        _, joints = body(betas, pose, transl)
        loss = F.smooth_l1_loss(project(joints), keypoints) + 0.01 * betas.pow(2).mean() + 0.01 * pose.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == steps - 1:
            print(f'step {step}: {loss.item():.3f}')
    return betas.detach(), pose.detach()


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--batch_size', type=int, default=4)
    parser.add_argument('--steps', type=int, default=150)
    parser.add_argument('--lr', type=float, default=0.02)
    args = parser.parse_args()
    torch.manual_seed(0)
    rng = np.random.RandomState(0)
    body = BodyModel()
    centre = torch.tensor([128.0, 128.0])
    keypoints = centre + torch.tensor(rng.randn(args.batch_size, body.num_joints, 2) * 20, dtype=torch.float32)
    betas, pose = fit(body, keypoints, args.steps, args.lr)
    print('betas', betas[0])
