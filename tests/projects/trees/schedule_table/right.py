"""A horizon of as many updates as the run has, for each process."""

from accelerate import Accelerator
from schedules import schedule_in_updates


def train(args, model, loader, optimizer, criterion):
    accelerator = Accelerator(gradient_accumulation_steps=args.accum_steps)
    schedule = schedule_in_updates(args, optimizer, accelerator.num_processes)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    updates = 0
    for _ in range(args.epochs):
        for x, y in loader:
            with accelerator.accumulate(model):
                accelerator.backward(criterion(model(x), y))
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                updates += 1
            if updates >= args.max_steps:
                break
