"""Systems to measure against. Each is small, honest, and gives the checksums that joingraph gives.

divm               classic incremental view maintenance: indexed base tables, no cache
ojt                the full outer join of the base tables, kept as a table
duckdb_delta       DuckDB, the delta query written by hand, one row or a batch at a time
sqlite_triggers    SQLite, triggers that write the view's diffs into a table
rust/hand          Rust written by hand for exactly each view: the limit in practice
rust/stored        more than base tables kept: DBToaster's maps, or auxiliary views
rust/dd            differential-dataflow, by binary joins or by delta queries
rust/dbspx         dbsp, the engine of Feldera
"""
