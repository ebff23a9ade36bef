from app.tasks.causal import CausalTask


class InstructTask(CausalTask):
    name: str = "instruct"


class PreferenceTask(CausalTask):
    name: str = "preference"
