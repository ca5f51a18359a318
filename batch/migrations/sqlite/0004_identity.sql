-- Tells this ledger from every other one, and from copies of its file.
CREATE TABLE identity (
    -- Random. The marker at each output contains it.
    id TEXT NOT NULL,
    -- The file of the ledger: its inode, and when it was created. NULL: not known.
    file TEXT,
    -- JSON of the SDK's `Durations`: how long the last tasks took. NULL: no run has ended.
    durations TEXT,
    -- The base URL of the service that was paid, or "simulator". NULL: no batch has run.
    service TEXT
) STRICT;

INSERT INTO identity (id) VALUES (LOWER(HEX(RANDOMBLOB(16))));
