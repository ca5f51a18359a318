-- Groups and priorities of jobs, limits that can change while workers run, and jobs that left.

ALTER TABLE submissions ADD COLUMN group_name TEXT;
CREATE INDEX submissions_by_job ON submissions (job);
CREATE INDEX submissions_without_job ON submissions (group_name, operation)
    WHERE job IS NULL AND state IN ('open', 'accepted');

-- SQLite cannot change a constraint of a table.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE old_jobs AS SELECT * FROM jobs;
DROP TABLE jobs;

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
    -- The user, the order or the campaign that it is for.
    group_name TEXT,
    -- JSON of the program.
    metadata TEXT,
    -- Jobs with a higher one are submitted first.
    priority INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL
        CHECK (state IN ('queued', 'submitting', 'submitted', 'ready', 'saved',
                         'damaged', 'failed', 'moderated', 'expired', 'unknown', 'cancelled')),
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
    -- The highest number of a worker when a worker could not continue the job. Only workers with
    -- higher numbers try again.
    left_after INTEGER,
    added_at INTEGER NOT NULL,
    ready_at INTEGER,
    -- When the state last changed.
    changed_at INTEGER NOT NULL,
    CHECK (state IN ('queued', 'failed', 'cancelled') OR submission IS NOT NULL),
    CHECK (state NOT IN ('queued', 'cancelled') OR submission IS NULL),
    CHECK (state NOT IN ('ready', 'saved') OR location IS NOT NULL),
    CHECK (state NOT IN ('submitting') OR worker IS NOT NULL)
) STRICT;

INSERT INTO jobs (id, name, number, target, operation, request, state, reason, submission, location,
    worker, claim, left_after, added_at, ready_at, changed_at)
SELECT id, name, number, target, operation, request, state, reason, submission, location, worker,
    claim, left_after, added_at, ready_at, changed_at
FROM old_jobs;
DROP TABLE old_jobs;

CREATE INDEX jobs_by_state ON jobs (state, left_after);
CREATE INDEX jobs_to_claim ON jobs (worker, state, priority DESC, id);
CREATE INDEX jobs_by_claim ON jobs (worker, claim);
CREATE INDEX jobs_by_group ON jobs (group_name, state) WHERE group_name IS NOT NULL;
CREATE INDEX jobs_by_change ON jobs (changed_at);
CREATE UNIQUE INDEX jobs_by_location ON jobs (LOWER(location));
-- Names of files that do not depend on the job must be different.
CREATE UNIQUE INDEX jobs_by_plain_target ON jobs (target) WHERE target NOT LIKE '%{%';

ALTER TABLE staged_jobs ADD COLUMN group_name TEXT;
ALTER TABLE staged_jobs ADD COLUMN metadata TEXT;
ALTER TABLE staged_jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;

-- Jobs that ended and left the ledger. Their submissions stay, and prove what was paid.
CREATE TABLE archived_jobs (
    name TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    target TEXT NOT NULL,
    -- The digest of the request in hexadecimal: a job that is added again is the same one.
    request_sha256 TEXT NOT NULL,
    state TEXT NOT NULL,
    location TEXT,
    archived_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE limits (
    scope TEXT NOT NULL CHECK (scope IN ('ledger', 'operation', 'group')),
    -- The operation or the group. Empty: the ledger, or each group without limits of its own.
    name TEXT NOT NULL,
    -- In credits.
    budget REAL,
    max_active INTEGER,
    -- NULL: not paused.
    paused_at INTEGER,
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;

-- Each submission also counts for its group. The empty group has all submissions.
DROP TRIGGER spending_of_new;
DROP TRIGGER spending_of_changed;
DROP TABLE spending;

CREATE TABLE spending (
    group_name TEXT NOT NULL,
    operation TEXT NOT NULL,
    -- PostgreSQL has several rows, so that the connections do not wait for each other.
    part INTEGER NOT NULL,
    -- The highest known cost of one submission, and the sum of the known costs, in credits.
    price REAL,
    credits REAL NOT NULL,
    -- The number of submissions without a known cost, and of those without a response.
    without_cost INTEGER NOT NULL,
    open INTEGER NOT NULL,
    PRIMARY KEY (group_name, operation, part)
) STRICT, WITHOUT ROWID;

INSERT INTO spending
SELECT '', operation, 0, MAX(cost), TOTAL(cost) FILTER (WHERE state <> 'withdrawn'),
    COUNT(*) FILTER (WHERE state <> 'withdrawn' AND cost IS NULL),
    COUNT(*) FILTER (WHERE state = 'open')
FROM submissions GROUP BY operation;

CREATE TRIGGER spending_of_new AFTER INSERT ON submissions WHEN NEW.state <> 'withdrawn' BEGIN
    INSERT INTO spending
    SELECT name, NEW.operation, 0, NEW.cost, COALESCE(NEW.cost, 0), NEW.cost IS NULL,
        NEW.state = 'open'
    FROM (SELECT '' AS name UNION SELECT COALESCE(NEW.group_name, '')) WHERE TRUE
    ON CONFLICT DO UPDATE SET
        price = COALESCE(MAX(price, excluded.price), price, excluded.price),
        credits = credits + excluded.credits,
        without_cost = without_cost + excluded.without_cost,
        open = open + excluded.open;
END;

CREATE TRIGGER spending_of_changed AFTER UPDATE OF state, cost ON submissions
WHEN OLD.state <> NEW.state OR OLD.cost IS NOT NEW.cost BEGIN
    UPDATE spending SET
        price = COALESCE(MAX(price, NEW.cost), price, NEW.cost),
        credits = credits - IIF(OLD.state <> 'withdrawn', COALESCE(OLD.cost, 0), 0)
            + IIF(NEW.state <> 'withdrawn', COALESCE(NEW.cost, 0), 0),
        without_cost = without_cost - (OLD.state <> 'withdrawn' AND OLD.cost IS NULL)
            + (NEW.state <> 'withdrawn' AND NEW.cost IS NULL),
        open = open - (OLD.state = 'open') + (NEW.state = 'open')
    WHERE group_name IN ('', COALESCE(NEW.group_name, '')) AND operation = NEW.operation
        AND part = 0;
END;
