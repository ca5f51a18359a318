-- The record of a submission is its only form. The other columns follow from it when it is written,
-- because queries find or count submissions by them.

-- Before, the submissions of jobs that ended were often left as accepted.
UPDATE submissions SET state = 'settled'
WHERE state = 'accepted' AND job IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM jobs j WHERE j.submission = submissions.id AND j.state IN ('submitted', 'ready'));

-- SQLite cannot drop a column that a constraint of the table mentions.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE old_submissions AS SELECT * FROM submissions;
DROP TABLE submissions;

CREATE TABLE submissions (
    id INTEGER PRIMARY KEY,
    intent_id TEXT NOT NULL UNIQUE,
    operation TEXT NOT NULL,
    -- The job that it was for. NULL: a submission of another part of the program.
    job INTEGER REFERENCES jobs (id),
    -- In the path of the webhook URL, and nowhere else.
    token TEXT UNIQUE,
    -- JSON of the SDK's `Record`. The polling URL of its task may be signed.
    record TEXT NOT NULL,
    -- open: sent, or about to be, without a response; withdrawn: not billed; settled: nothing is
    -- left to do.
    state TEXT NOT NULL CHECK (state IN ('open', 'accepted', 'settled', 'withdrawn')),
    task_id TEXT,
    -- In credits, from the response to the submission.
    cost REAL,
    sent_at INTEGER NOT NULL,
    -- When the ledger recorded the task.
    accepted_at INTEGER,
    -- Until then, the worker that lost its lease may still send the request.
    hold_until INTEGER
) STRICT;

INSERT INTO submissions
SELECT id, intent_id, operation, job, token,
    JSON_OBJECT(
        'intent', JSON(intent),
        'state', JSON(CASE
            WHEN state = 'open' THEN '"unknown"'
            WHEN state = 'withdrawn' AND record IS NULL THEN '"not_billed"'
            WHEN state IN ('settled', 'lost')
                AND COALESCE(record ->> '$.state', 'accepted') IN ('accepted', 'ready')
                THEN '"settled"'
            ELSE COALESCE(record -> '$.state', '"accepted"') END),
        'task', JSON(CASE
            WHEN cost IS NULL THEN COALESCE(record -> '$.task', task)
            ELSE JSON_SET(COALESCE(record -> '$.task', task), '$.cost', cost) END),
        'ready_at', record ->> '$.ready_at',
        'not_found_at', record ->> '$.not_found_at'),
    CASE WHEN state = 'lost' THEN 'settled' ELSE state END,
    task_id, cost, sent_at, accepted_at, hold_until
FROM old_submissions;

DROP TABLE old_submissions;
CREATE INDEX submissions_by_task ON submissions (task_id);
CREATE INDEX submissions_by_operation ON submissions (operation, state, cost);
