from diffusers.optimization import TYPE_TO_SCHEDULER_FUNCTION, SchedulerType


def schedule_for(args, optimizer, num_processes):
    name = SchedulerType(args.schedule)
    num_training_steps = args.max_steps * num_processes * args.accum_steps
    make = TYPE_TO_SCHEDULER_FUNCTION[name]
    if name == SchedulerType.COSINE_WITH_RESTARTS:
        return make(optimizer, num_warmup_steps=args.warmup, num_training_steps=num_training_steps, num_cycles=2)
    return make(optimizer, num_warmup_steps=args.warmup, num_training_steps=num_training_steps)


def schedule_in_updates(args, optimizer, num_processes):
    make = TYPE_TO_SCHEDULER_FUNCTION[args.schedule]
    return make(optimizer, num_warmup_steps=args.warmup, num_training_steps=args.max_steps * num_processes)
