"""Mistakes for the other examples that read pictures."""

from rehearsals.mistakes.mistake import Mistake

MISTAKES = {
    "super_resolution": (
        Mistake(
            "data",
            "def get_training_set ... calculate_valid_crop_size(256, upscale_factor)",
            "256",
            ("main.py|criterion(model(input)",),
            file="data.py",
        ),
        Mistake(
            "data set",
            "return y",
            "return img",
            ("model.py|self.conv1(x)",),
            file="dataset.py",
        ),
        Mistake(
            "model",
            "conv3 = nn.Conv2d(64, 32",
            "conv3 = nn.Conv2d(64, 16",
            ("self.conv4(x)",),
            file="model.py",
        ),
        Mistake(
            "optimizer",
            "optim.Adam(model.parameters()",
            "optim.Adam(model.conv4.parameters()",
            ("loss.backward()", "optimizer.step()"),
            "not-in-optimizer",
        ),
        Mistake(
            "evaluation",
            "criterion(prediction, target)",
            "criterion(prediction[0], target)",
            code="implicit-broadcast",
        ),
    ),
    "fast_neural_style": (
        Mistake(
            "data",
            "transforms.CenterCrop(args.image_size),",
            "",
            ("in enumerate(train_loader)",),
        ),
        Mistake(
            "model",
            "UpsampleConvLayer(128, 64",
            "UpsampleConvLayer(128, 32",
            ("self.in4(self.deconv1(y))",),
            file="transformer_net.py",
        ),
        Mistake(
            "loss",
            "features.bmm(features_t)",
            "features.bmm(features)",
            file="utils.py",
        ),
        Mistake(
            "last batch", "gm_s[:n_batch, :, :]", "gm_s", code="implicit-broadcast"
        ),
        Mistake(
            "in place",
            "y = self.deconv3(y)",
            "y = self.relu(self.deconv3(y))",
            (
                "utils.py|batch.div_(",
                "neural_style.py|total_loss.backward()",
            ),
            file="transformer_net.py",
        ),
    ),
    "siamese_network": (
        Mistake(
            "data",
            "self.dataset.data.unsqueeze(1)",
            "self.dataset.data",
            ("self.resnet(x)",),
        ),
        Mistake(
            "model",
            "self.fc_in_features * 2",
            "self.fc_in_features",
            ("self.fc(output)",),
        ),
        Mistake(
            "loss",
            "def train( ... .squeeze()",
            "",
            ("def train( ... criterion(outputs, targets)",),
        ),
        Mistake(
            "optimizer",
            "Adadelta(model.parameters()",
            "Adadelta(model.fc.parameters()",
            ("loss.backward()", "optimizer.step()"),
            "not-in-optimizer",
        ),
        Mistake(
            "evaluation",
            "model.eval()",
            "pass",
            ("def test( ... model(images_1, images_2)",),
            "evaluated-in-training-mode",
        ),
    ),
    "vision_transformer": (
        Mistake(
            "data",
            "Resize((args.img_size, args.img_size))",
            "Resize((36, 36))",
            ("assert height %",),
        ),
        Mistake(
            "loader",
            "DataLoader(train_data, batch_size=args.batch_size",
            "DataLoader(train_data, batch_size=3",
            ("torch.cat((self.class_token",),
        ),
        Mistake(
            "model",
            "self.latent_size * 4)",
            "self.latent_size * 2)",
            ("self.enc_MLP(second_norm)", "nn.Linear(self.latent_size * 4, "),
        ),
        Mistake("memory", "def train_fn( ... loss.item()", "loss", code="graph-kept"),
        Mistake(
            "evaluation",
            "def eval_fn( ... images, labels = data",
            "labels, images = data",
            ("= input_data.size()",),
        ),
    ),
    "mnist_rnn": (
        Mistake(
            "data",
            "train=False ... transforms.ToTensor()",
            "transforms.Resize(30), transforms.ToTensor()",
            ("input.reshape(-1, 28, 28)",),
        ),
        Mistake(
            "model",
            "nn.BatchNorm1d(64)",
            "nn.BatchNorm1d(28)",
            ("self.batchnorm(output)",),
        ),
        Mistake("forward", "output[:, -1, :]", "output", ("self.batchnorm(output)",)),
        Mistake(
            "second epoch",
            "model.train()",
            "pass",
            ("loss.backward()", "def train( ... model(data)", "model.eval()"),
            "trained-in-eval-mode",
        ),
        Mistake(
            "checkpoint",
            "torch.save(",
            "model.load_state_dict(model.rnn.state_dict()); torch.save(",
        ),
    ),
    "mnist_hogwild": (
        Mistake(
            "data",
            "transforms.ToTensor()",
            "transforms.Resize(32), transforms.ToTensor()",
            ("x.view(-1, 320)", "train.py|loss = F.nll_loss("),
        ),
        Mistake("model", "nn.Linear(320,", "nn.Linear(300,", ("self.fc1(x)",)),
        Mistake(
            "loss",
            "loss = F.nll_loss(output, target.to(device))",
            "loss = F.nll_loss(output, target[:, None])",
            file="train.py",
        ),
        Mistake(
            "optimizer",
            "optimizer.zero_grad()",
            "pass",
            ("loss.backward()", "optimizer.step()"),
            "gradients-not-cleared",
            file="train.py",
        ),
        Mistake(
            "evaluation",
            "output.max(1)[1]",
            "output.max(1)",
            ("pred.eq(",),
            file="train.py",
        ),
    ),
    "mnist_forward_forward": (
        Mistake("data", "torch.flatten(x)", "x", ("x_[range(x.shape[0]), y]",)),
        Mistake("model", "Net([784,", "Net([794,", ("torch.mm(x_direction",)),
        Mistake("loss", "torch.cat([-g_pos ... ).mean()", ")", ("loss.backward()",)),
        Mistake(
            "optimizer",
            "self.opt.zero_grad()",
            "pass",
            ("loss.backward()", "self.opt.step()"),
            "gradients-not-cleared",
        ),
        Mistake(
            "second layer",
            "self.forward(x_pos).detach()",
            "self.forward(x_pos)",
            ("loss.backward()",),
        ),
    ),
}
