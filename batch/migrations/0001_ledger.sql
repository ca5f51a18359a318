-- "IKLB": refuses databases of other programs.
PRAGMA application_id = 1229671490;

CREATE TABLE submissions (
    id INTEGER PRIMARY KEY,
    intent_id TEXT NOT NULL UNIQUE,
    -- The intent as JSON.
    intent TEXT NOT NULL,
    operation TEXT NOT NULL,
    -- The job that it was for. NULL: a submission of another part of the program.
    job INTEGER REFERENCES jobs (id),
    -- open: sent, or about to be, without a response; lost: billed, but its task is not known.
    state TEXT NOT NULL
        CHECK (state IN ('open', 'accepted', 'settled', 'withdrawn', 'lost')),
    task_id TEXT,
    -- The reference of the task as JSON. Its polling URL may be signed.
    task TEXT,
    -- In credits, from the response to the submission.
    cost REAL,
    CHECK ((state IN ('accepted', 'settled')) = (task IS NOT NULL))
) STRICT;

CREATE INDEX submissions_by_task ON submissions (task_id);
CREATE INDEX submissions_by_operation ON submissions (operation, state, cost);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- Below the output directory.
    target TEXT NOT NULL UNIQUE,
    operation TEXT NOT NULL,
    -- The request as JSON, without secrets.
    request TEXT NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('queued', 'submitting', 'submitted', 'ready', 'saved',
                         'failed', 'moderated', 'expired', 'unknown')),
    -- Why the job is in this state, or why it has not left it.
    reason TEXT,
    -- The current submission. Earlier ones were not billed.
    submission INTEGER UNIQUE REFERENCES submissions (id),
    -- The file that is being saved or was saved; it did not exist when the job became ready.
    path TEXT,
    CHECK (state IN ('queued', 'failed') OR submission IS NOT NULL),
    CHECK (state <> 'queued' OR submission IS NULL),
    CHECK (state NOT IN ('ready', 'saved') OR path IS NOT NULL)
) STRICT;

CREATE INDEX jobs_by_state ON jobs (state, operation);
