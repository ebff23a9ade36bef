import lpips
import torch
from models import Discriminator, Generator


class Adversaries(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.generator = Generator(width)
        self.critic = Discriminator(width)
        self.perceptual = lpips.LPIPS(net="vgg").requires_grad_(False).cuda()
        self.set_optimizers()

    def set_optimizers(self):
        self.of_generator = torch.optim.AdamW(self.generator.parameters(), lr=1e-4)
        self.of_critic = torch.optim.AdamW(self.critic.parameters(), lr=1e-4)

    def fit(self, loader, epochs):
        for _ in range(epochs):
            for x in loader:
                self.of_generator.zero_grad()
                self.of_critic.zero_grad()
                made, vq_loss = self.generator(x)
                loss = self.perceptual(made, x).mean() + vq_loss - self.critic(made).mean()
                loss.backward()  # expect: leaked-gradients
                self.of_generator.step()
                judged = torch.relu(1 - self.critic(x)).mean() + torch.relu(1 + self.critic(made.detach())).mean()
                judged.backward()
                self.of_critic.step()

    def fit_apart(self, loader, epochs):
        for _ in range(epochs):
            for x in loader:
                self.of_generator.zero_grad()
                made, vq_loss = self.generator(x)
                loss = self.perceptual(made, x).mean() + vq_loss - self.critic(made).mean()
                loss.backward()
                self.of_generator.step()
                self.of_critic.zero_grad()
                judged = torch.relu(1 - self.critic(x)).mean() + torch.relu(1 + self.critic(made.detach())).mean()
                judged.backward()
                self.of_critic.step()
