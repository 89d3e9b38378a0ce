"""What is measured: joins as data, the model that makes their tables, and the diffs.

views       the joins: joingraph reads their SQL, rivals their structure
model       the seeded model of base tables, and the folders of raw columns they live in
outer       the joins of the others whose last alias may be missing, or is only asked for
churn       the diffs of tables that change without growing much
catalogue   name -> view, base tables, diffs
"""
