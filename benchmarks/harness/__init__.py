"""What measures: one run of a system in a process of its own, many runs in turns, their results.

cli            options, and the order of work
runner         runs in turns, checksums compared
one_run        one run of joingraph; a rival's is in benchmarks/rivals
timing         the clock around batches, and the figures it gives
checksum       what a consumer does with view rows, so that results can be compared
record         what a run reports: one JSON line, the same for every system
report         tables and result files
origin         machine, commit and date, which every result file names
"""
