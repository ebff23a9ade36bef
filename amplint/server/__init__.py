"""amplint in an editor: a language server over stdio.

`serving` answers the editor and `session` keeps what is open; neither analyses anything. What is asked of a file goes
as a question (`questions`) to one other process (`worker`), in which the stages of a check are run on the texts as the
editor has them. So the server answers while a file is analysed, and an analysis that nobody waits for any more ends.
"""
