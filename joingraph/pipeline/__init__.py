"""A pipeline in the terms of joingraph alone: what sources say, where it stands, what sinks owe.

    what a source wrote -> entries (changes, debezium) -> graph (open_graph) -> outbox -> sinks

Nothing here knows of the engine that brings the rows: joingraph/spark does.
"""
