"""A GAN with a dictionary of networks and of optimizers: the discriminator is never zeroed."""

# wrong: missing-zero-grad
import torch
import torch.nn as nn
import torch.nn.functional as F


class Args:
    z_dim = 4
    batch_size = 8
    accumulate = 2
    r1_gamma = 1.0
    r1_interval = 2
    iterations = 6


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


def d_logistic_loss(real_pred, fake_pred):
    return F.softplus(-real_pred).mean() + F.softplus(fake_pred).mean()


def g_nonsaturating_loss(fake_pred):
    return F.softplus(-fake_pred).mean()


def d_r1_loss(real_pred, real_img):
    (grad_real,) = torch.autograd.grad(outputs=real_pred.sum(), inputs=real_img, create_graph=True)
    return grad_real.pow(2).reshape(grad_real.shape[0], -1).sum(1).mean()


def train(args, nets, optims, real_data):
    for i in range(args.iterations):
        requires_grad(nets["G"], False)
        requires_grad(nets["D"], True)
        d_total = 0.0
        for _ in range(args.accumulate):
            real = next(real_data)
            fake = nets["G"](torch.randn(args.batch_size, args.z_dim))
            d_loss = d_logistic_loss(nets["D"](real), nets["D"](fake))
            (d_loss / args.accumulate).backward()  # expect: missing-zero-grad
            d_total += d_loss.item()
        optims["D"].step()

        if i % args.r1_interval == 0:
            real.requires_grad = True
            real_pred = nets["D"](real)
            r1_loss = d_r1_loss(real_pred, real)
            (args.r1_gamma / 2 * r1_loss * args.r1_interval + 0 * real_pred[0, 0]).backward()
            optims["D"].step()

        requires_grad(nets["G"], True)
        requires_grad(nets["D"], False)
        nets["G"].zero_grad()
        for _ in range(args.accumulate):
            fake = nets["G"](torch.randn(args.batch_size, args.z_dim))
            g_loss = g_nonsaturating_loss(nets["D"](fake))
            (g_loss / args.accumulate).backward()
        optims["G"].step()
        print(f"{i}: d {d_total:.4f} g {g_loss.item():.4f}")


def sample_data(size):
    while True:
        yield torch.randn(size, 2) * 0.5 + 1.0


if __name__ == "__main__":
    torch.manual_seed(0)
    args = Args()
    nets = {
        "G": nn.Sequential(nn.Linear(args.z_dim, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2)),
        "D": nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)),
    }
    optims = {name: torch.optim.Adam(net.parameters(), lr=2e-3, betas=(0.0, 0.99)) for name, net in nets.items()}
    train(args, nets, optims, sample_data(args.batch_size))
