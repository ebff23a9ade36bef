from app.tasks.counting import CountedTask
from app.tasks.instructing import InstructTask, PreferenceTask


def task_for(stage):
    if stage == "instruct":
        return InstructTask()
    elif stage == "preference":
        return PreferenceTask()
    else:
        raise ValueError("an unknown stage")


def counted_task_for(stage):
    return CountedTask(stage)
