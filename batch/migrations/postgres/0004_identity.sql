-- Tells this ledger from every other one.
CREATE TABLE identity (
    -- Random. The marker at each output contains it.
    id TEXT NOT NULL,
    -- Only ledgers in files have one.
    file TEXT,
    -- JSON of the SDK's `Durations`: how long the last tasks took. NULL: no run has ended.
    durations TEXT,
    -- The base URL of the service that was paid, or "simulator". NULL: no batch has run.
    service TEXT
);

INSERT INTO identity (id) VALUES (REPLACE(GEN_RANDOM_UUID()::TEXT, '-', ''));
