"""Compiled loops of forests.

`layout` says how a tree lies in memory, `draws` draws the features of a node, `items` puts its examples in order,
`cuts` finds its best cut and keeps its rivals, `grow` grows trees from them; `walk` notes what a test object changes,
`regrow` grows a branch with it, `votes` counts.
"""
