"""The live half of amplint: it will sit in the training process and confirm what the linter says of the source.

The room is empty as yet. It may import `amplint.catalogue`, `amplint.dialects` and `amplint.protocol`, and nothing
else of `amplint`.
"""
