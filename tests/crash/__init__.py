"""Kills a process that keeps a graph, again and again, and looks for anything that it had promised.

python -m tests.crash --kills 1000 --seed 1
"""
