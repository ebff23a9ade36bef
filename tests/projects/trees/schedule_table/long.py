"""A horizon that is the window times too long, told once, at the call that makes it one."""

from accelerate import Accelerator
from schedules import schedule_for


def train(args, model, loader, optimizer, criterion):
    accelerator = Accelerator(gradient_accumulation_steps=args.accum_steps)
    schedule = schedule_for(args, optimizer, accelerator.num_processes)  # expect: scheduler-horizon-mismatch
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
