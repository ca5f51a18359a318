-- A ledger in a file. Times are in milliseconds since the Unix epoch.

-- "IKLB": refuses databases of other programs.
PRAGMA application_id = 1229671490;

-- The scripts that created these tables and changed them since. A program runs those that it has
-- and that are missing here.
CREATE TABLE schema_version (
    version INTEGER PRIMARY KEY
) STRICT;

-- Tells this ledger from every other one, and from copies of its file. It has one row.
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

-- Runs. They are ordered by their numbers, which are never reused: a clock can be set back.
CREATE TABLE workers (
    id INTEGER PRIMARY KEY,
    -- The host and the process, for people.
    name TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    -- NULL: alive, as far as is known. Afterwards the worker can change no job.
    ended_at INTEGER
) STRICT;

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
    -- Its digest in hexadecimal, without the webhook URL.
    request_sha256 TEXT NOT NULL,
    -- The size of its picture, or the largest possible one: what a price per megapixel counts.
    pixels INTEGER NOT NULL,
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

CREATE INDEX jobs_by_state ON jobs (state, left_after);
-- Most jobs are saved, and every change of a job writes to each index that contains it.
CREATE INDEX jobs_to_claim ON jobs (state, priority DESC, id) WHERE worker IS NULL;
CREATE INDEX jobs_of_workers ON jobs (worker, claim)
    WHERE state IN ('queued', 'submitting', 'submitted', 'ready');
CREATE INDEX jobs_by_group ON jobs (group_name, state) WHERE group_name IS NOT NULL;
CREATE INDEX jobs_by_change ON jobs (changed_at);
CREATE UNIQUE INDEX jobs_by_location ON jobs (LOWER(location));
-- Names of files that do not depend on the job must be different.
CREATE UNIQUE INDEX jobs_by_plain_target ON jobs (target) WHERE target NOT LIKE '%{%';

CREATE TABLE submissions (
    id INTEGER PRIMARY KEY,
    intent_id TEXT NOT NULL UNIQUE,
    operation TEXT NOT NULL,
    group_name TEXT,
    -- The job that it was for. NULL: a submission of another part of the program.
    job INTEGER REFERENCES jobs (id),
    -- The size of its picture, or the largest possible one: what a price per megapixel counts.
    pixels INTEGER NOT NULL,
    -- The name of the idempotency key, which is that of the job if there is one.
    key_name TEXT,
    -- The worker that submitted the job. It is not in the record, which is as small as possible.
    worker INTEGER,
    -- In the path of the webhook URL, and nowhere else.
    token TEXT UNIQUE,
    -- JSON of the SDK's `Record`. The polling URL of its task may be signed. The state, the task
    -- and the cost follow from it when it is written, because queries find or count submissions by
    -- them.
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
    hold_until INTEGER,
    -- The process that sent a submission without a job.
    owner INTEGER
) STRICT;

CREATE INDEX submissions_by_task ON submissions (task_id);
CREATE INDEX submissions_by_job ON submissions (job);
CREATE INDEX submissions_by_key ON submissions (key_name) WHERE key_name IS NOT NULL;
CREATE INDEX submissions_without_job ON submissions (group_name, operation)
    WHERE job IS NULL AND state IN ('open', 'accepted');

-- Jobs that are being added. They become jobs all at once, when the last one is here.
CREATE TABLE staged_jobs (
    -- A random number.
    addition INTEGER NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    target TEXT NOT NULL,
    operation TEXT NOT NULL,
    request TEXT NOT NULL,
    request_sha256 TEXT NOT NULL,
    pixels INTEGER NOT NULL,
    group_name TEXT,
    metadata TEXT,
    priority INTEGER NOT NULL DEFAULT 0,
    staged_at INTEGER NOT NULL,
    PRIMARY KEY (addition, position)
) STRICT, WITHOUT ROWID;

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

-- Limits that can change while workers run.
CREATE TABLE limits (
    scope TEXT NOT NULL CHECK (scope IN ('ledger', 'operation', 'group')),
    -- The operation or the group. Empty: the ledger, or each group without limits of its own.
    name TEXT NOT NULL,
    -- In credits.
    budget REAL,
    max_active INTEGER,
    -- Submissions per minute.
    rate INTEGER,
    -- When the rate allows the next submission if each one waits for its turn.
    next_at INTEGER,
    -- NULL: not paused.
    paused_at INTEGER,
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;

-- What a submission costs in credits. Without a price per megapixel, it holds as long as no cost of
-- its operation is known.
CREATE TABLE prices (
    operation TEXT PRIMARY KEY,
    credits REAL NOT NULL,
    per_megapixel REAL NOT NULL
) STRICT;

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

-- What the submissions that were not withdrawn cost: the budget is checked before each submission,
-- and must not read all earlier ones for that. Each submission also counts for its group. The empty
-- group has all submissions.
CREATE TABLE spending (
    group_name TEXT NOT NULL,
    operation TEXT NOT NULL,
    -- PostgreSQL has several rows, so that the connections do not wait for each other.
    part INTEGER NOT NULL,
    -- The highest known cost of one submission, and the sum of the known costs, in credits.
    price REAL,
    credits REAL NOT NULL,
    -- The number of submissions without a known cost and the sum of their pixels, for which prices
    -- reserve credits; and the number of submissions without a response.
    without_cost INTEGER NOT NULL,
    pixels INTEGER NOT NULL,
    open INTEGER NOT NULL,
    PRIMARY KEY (group_name, operation, part)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER spending_of_new AFTER INSERT ON submissions WHEN NEW.state <> 'withdrawn' BEGIN
    INSERT INTO spending
    SELECT name, NEW.operation, 0, NEW.cost, COALESCE(NEW.cost, 0), NEW.cost IS NULL,
        IIF(NEW.cost IS NULL, NEW.pixels, 0), NEW.state = 'open'
    FROM (SELECT '' AS name UNION SELECT COALESCE(NEW.group_name, '')) WHERE TRUE
    ON CONFLICT DO UPDATE SET
        price = COALESCE(MAX(price, excluded.price), price, excluded.price),
        credits = credits + excluded.credits,
        without_cost = without_cost + excluded.without_cost,
        pixels = pixels + excluded.pixels,
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
        pixels = pixels - IIF(OLD.state <> 'withdrawn' AND OLD.cost IS NULL, OLD.pixels, 0)
            + IIF(NEW.state <> 'withdrawn' AND NEW.cost IS NULL, NEW.pixels, 0),
        open = open - (OLD.state = 'open') + (NEW.state = 'open')
    WHERE group_name IN ('', COALESCE(NEW.group_name, '')) AND operation = NEW.operation
        AND part = 0;
END;
