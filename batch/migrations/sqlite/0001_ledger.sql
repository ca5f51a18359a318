-- "IKLB": refuses databases of other programs.
PRAGMA application_id = 1229671490;

CREATE TABLE workers (
    id INTEGER PRIMARY KEY,
    -- The host and the process, for people.
    name TEXT NOT NULL,
    -- Times are in milliseconds since the Unix epoch.
    started_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    -- NULL: alive, as far as is known. Afterwards the worker can change no job.
    ended_at INTEGER
) STRICT;

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
    -- In the path of the webhook URL, and nowhere else.
    token TEXT UNIQUE,
    task_id TEXT,
    -- The reference of the task as JSON. Its polling URL may be signed.
    task TEXT,
    -- In credits, from the response to the submission.
    cost REAL,
    sent_at INTEGER NOT NULL,
    accepted_at INTEGER,
    -- Until then, the worker that lost its lease may still send the request.
    hold_until INTEGER,
    CHECK ((state IN ('accepted', 'settled')) = (task IS NOT NULL))
) STRICT;

CREATE INDEX submissions_by_task ON submissions (task_id);
CREATE INDEX submissions_by_operation ON submissions (operation, state, cost);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- The position of the job in the ledger, starting at 1.
    number INTEGER NOT NULL UNIQUE,
    -- The template of a path below the output.
    target TEXT NOT NULL,
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
    -- The path or the URL of the picture that is being saved or was saved. Nothing was there when
    -- the job became ready.
    location TEXT,
    -- The only worker that can change the job, or the last one. NULL: any worker can claim it.
    worker INTEGER REFERENCES workers (id),
    -- The number of the claim of this worker.
    claim INTEGER,
    -- When a worker could not continue the job. Only runs that start later try again.
    left_at INTEGER,
    added_at INTEGER NOT NULL,
    ready_at INTEGER,
    -- When the state last changed.
    changed_at INTEGER NOT NULL,
    CHECK (state IN ('queued', 'failed') OR submission IS NOT NULL),
    CHECK (state <> 'queued' OR submission IS NULL),
    CHECK (state NOT IN ('ready', 'saved') OR location IS NOT NULL),
    CHECK (state NOT IN ('submitting') OR worker IS NOT NULL)
) STRICT;

CREATE INDEX jobs_by_state ON jobs (state, left_at);
CREATE INDEX jobs_to_claim ON jobs (worker, state, id);
CREATE INDEX jobs_by_claim ON jobs (worker, claim);
CREATE UNIQUE INDEX jobs_by_location ON jobs (LOWER(location));
-- Names of files that do not depend on the job must be different.
CREATE UNIQUE INDEX jobs_by_plain_target ON jobs (target) WHERE target NOT LIKE '%{%';
