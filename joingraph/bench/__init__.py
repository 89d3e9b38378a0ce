"""Benchmarks as a tool: the workloads, their data, the runs, and what `joingraph bench` prints.

data, churn      the model that makes the tables, and the folders of raw columns they live in
views            the joins, as data: joingraph reads their SQL, rivals their structure
workloads        name -> view, base tables, diffs
checksum         what a consumer does with view rows, so that results can be compared
engine           one run of joingraph, in a process of its own
rivals           one run of another system
runner           runs interleaved, checksums compared
report, cli      JSON lines, tables, result files, options
"""
