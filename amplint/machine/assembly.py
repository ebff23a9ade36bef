"""The interpreter put together: which module answers what its other parts ask."""

from amplint.machine import attributes, calls, expressions, objects, statements, streams
from amplint.state.run import Machine

MACHINE = Machine(
    evaluate=expressions.evaluate,
    execute=statements.execute,
    assign=statements.assign,
    invoke=calls.invoke,
    read=attributes.read,
    instantiate=objects.instantiate,
    stream_of=streams.stream_of,
)
