-- Jobs that are being added. They become jobs all at once, when the last one is here.
CREATE TABLE staged_jobs (
    -- A random number.
    addition INTEGER NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    target TEXT NOT NULL,
    operation TEXT NOT NULL,
    request TEXT NOT NULL,
    staged_at INTEGER NOT NULL,
    PRIMARY KEY (addition, position)
) STRICT, WITHOUT ROWID;
