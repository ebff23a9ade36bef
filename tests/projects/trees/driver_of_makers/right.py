from config import cfg
from processor import do_train
from solver import build_optimizer, build_scheduler


def main(model, loader, criterion):
    optimizer = build_optimizer(cfg, model)
    scheduler = build_scheduler(cfg, optimizer)
    do_train(cfg, model, loader, optimizer, scheduler, criterion, True)
