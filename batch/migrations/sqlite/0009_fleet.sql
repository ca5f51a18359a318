-- Rates of submissions, prices, which worker submitted a job, idempotency keys, outages of the
-- service, and smaller indices of jobs to claim.

-- Submissions per minute.
ALTER TABLE limits ADD COLUMN rate INTEGER;
-- When the rate allows the next submission if each one waits for its turn.
ALTER TABLE limits ADD COLUMN next_at INTEGER;

-- What a submission costs in credits as long as no cost of its operation is known.
CREATE TABLE prices (
    operation TEXT PRIMARY KEY,
    credits REAL NOT NULL
) STRICT;

-- Not that of the record, which is as small as possible.
ALTER TABLE submissions ADD COLUMN worker INTEGER;

-- The name of the idempotency key, which is that of the job if there is one.
ALTER TABLE submissions ADD COLUMN key_name TEXT;
CREATE INDEX submissions_by_key ON submissions (key_name) WHERE key_name IS NOT NULL;

-- Most jobs are saved, and every change of a job writes to each index that contains it.
DROP INDEX jobs_to_claim;
DROP INDEX jobs_by_claim;
CREATE INDEX jobs_to_claim ON jobs (state, priority DESC, id) WHERE worker IS NULL;
CREATE INDEX jobs_of_workers ON jobs (worker, claim)
    WHERE state IN ('queued', 'submitting', 'submitted', 'ready');

-- The last outages of the service, or its refusals of all submissions.
CREATE TABLE outages (
    -- Empty for all of them.
    operation TEXT PRIMARY KEY,
    since INTEGER NOT NULL,
    -- When the next submission may start. NULL if the outage has ended.
    until INTEGER,
    ended_at INTEGER,
    pauses INTEGER NOT NULL,
    -- The intent of the submission that finds out whether the outage has ended.
    probe TEXT,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;
