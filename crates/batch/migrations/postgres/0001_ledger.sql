-- A ledger in a schema of its own, because other tables of the program may be in the same database.
-- Times are in milliseconds since the Unix epoch.
CREATE SCHEMA IF NOT EXISTS imagekiln;

-- The scripts that created these tables and changed them since. A program runs those that it has
-- and that are missing here.
CREATE TABLE schema_version (
    version BIGINT PRIMARY KEY
);

-- Tells this ledger from every other one. It has one row.
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

-- Runs. They are ordered by their numbers, which are never reused: a clock can be set back.
CREATE TABLE workers (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The host and the process, for people.
    name TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    -- NULL: alive, as far as is known. Afterwards the worker can change no job.
    ended_at BIGINT
);

CREATE TABLE submissions (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    intent_id TEXT NOT NULL UNIQUE,
    operation TEXT NOT NULL,
    group_name TEXT,
    -- The job that it was for. NULL: a submission of another part of the program.
    job BIGINT,
    -- The size of its picture, or the largest possible one: what a price per megapixel counts.
    pixels BIGINT NOT NULL,
    -- The name of the idempotency key, which is that of the job if there is one.
    key_name TEXT,
    -- The worker that submitted the job. It is not in the record, which is as small as possible.
    worker BIGINT,
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
    cost DOUBLE PRECISION,
    sent_at BIGINT NOT NULL,
    -- When the ledger recorded the task.
    accepted_at BIGINT,
    -- Until then, the worker that lost its lease may still send the request.
    hold_until BIGINT,
    -- The process that sent a submission without a job. Its connection holds a lock with this
    -- number, so other processes see whether it still runs.
    owner BIGINT
);

CREATE INDEX submissions_by_task ON submissions (task_id);
CREATE INDEX submissions_by_job ON submissions (job);
CREATE INDEX submissions_by_key ON submissions (key_name) WHERE key_name IS NOT NULL;
CREATE INDEX submissions_without_job ON submissions (group_name, operation)
    WHERE job IS NULL AND state IN ('open', 'accepted');

CREATE TABLE jobs (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- The position of the job in the ledger, starting at 1.
    number BIGINT NOT NULL UNIQUE,
    -- The template of a path below the output.
    target TEXT NOT NULL,
    operation TEXT NOT NULL,
    -- The request as JSON, without secrets.
    request TEXT NOT NULL,
    -- Its digest in hexadecimal, without the webhook URL.
    request_sha256 TEXT NOT NULL,
    -- The size of its picture, or the largest possible one: what a price per megapixel counts.
    pixels BIGINT NOT NULL,
    -- The user, the order or the campaign that it is for.
    group_name TEXT,
    -- JSON of the program.
    metadata TEXT,
    -- Jobs with a higher one are submitted first.
    priority BIGINT NOT NULL DEFAULT 0,
    state TEXT NOT NULL
        CHECK (state IN ('queued', 'submitting', 'submitted', 'ready', 'saved',
                         'damaged', 'failed', 'moderated', 'expired', 'unknown', 'cancelled')),
    -- Why the job is in this state, or why it has not left it.
    reason TEXT,
    -- The current submission. Earlier ones were not billed.
    submission BIGINT UNIQUE REFERENCES submissions (id),
    -- The path or the URL of the picture that is being saved or was saved. Nothing was there when
    -- the job became ready.
    location TEXT,
    -- The only worker that can change the job, or the last one. NULL: any worker can claim it.
    worker BIGINT REFERENCES workers (id),
    -- The number of the claim of this worker.
    claim BIGINT,
    -- The highest number of a worker when a worker could not continue the job. Only workers with
    -- higher numbers try again.
    left_after BIGINT,
    added_at BIGINT NOT NULL,
    ready_at BIGINT,
    -- When the state last changed.
    changed_at BIGINT NOT NULL,
    CHECK (state IN ('queued', 'failed', 'cancelled') OR submission IS NOT NULL),
    CHECK (state NOT IN ('queued', 'cancelled') OR submission IS NULL),
    CHECK (state NOT IN ('ready', 'saved') OR location IS NOT NULL),
    CHECK (state NOT IN ('submitting') OR worker IS NOT NULL)
);

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

-- Each table refers to the other one.
ALTER TABLE submissions ADD FOREIGN KEY (job) REFERENCES jobs (id);

-- Transactions that add jobs do not wait for each other.
CREATE SEQUENCE job_numbers;

-- Jobs that are being added. They become jobs all at once, when the last one is here.
CREATE TABLE staged_jobs (
    -- A random number.
    addition BIGINT NOT NULL,
    position BIGINT NOT NULL,
    name TEXT NOT NULL,
    target TEXT NOT NULL,
    operation TEXT NOT NULL,
    request TEXT NOT NULL,
    request_sha256 TEXT NOT NULL,
    pixels BIGINT NOT NULL,
    group_name TEXT,
    metadata TEXT,
    priority BIGINT NOT NULL DEFAULT 0,
    staged_at BIGINT NOT NULL,
    PRIMARY KEY (addition, position)
);

-- Jobs that ended and left the ledger. Their submissions stay, and prove what was paid.
CREATE TABLE archived_jobs (
    name TEXT PRIMARY KEY,
    number BIGINT NOT NULL,
    target TEXT NOT NULL,
    -- The digest of the request in hexadecimal: a job that is added again is the same one.
    request_sha256 TEXT NOT NULL,
    state TEXT NOT NULL,
    location TEXT,
    archived_at BIGINT NOT NULL
);

-- Limits that can change while workers run.
CREATE TABLE limits (
    scope TEXT NOT NULL CHECK (scope IN ('ledger', 'operation', 'group')),
    -- The operation or the group. Empty: the ledger, or each group without limits of its own.
    name TEXT NOT NULL,
    -- In credits.
    budget DOUBLE PRECISION,
    max_active BIGINT,
    -- Submissions per minute.
    rate BIGINT,
    -- When the rate allows the next submission if each one waits for its turn.
    next_at BIGINT,
    -- NULL: not paused.
    paused_at BIGINT,
    PRIMARY KEY (scope, name)
);

-- What a submission costs in credits. Without a price per megapixel, it holds as long as no cost of
-- its operation is known.
CREATE TABLE prices (
    operation TEXT PRIMARY KEY,
    credits DOUBLE PRECISION NOT NULL,
    per_megapixel DOUBLE PRECISION NOT NULL
);

-- The last outages of the service, or its refusals of all submissions.
CREATE TABLE outages (
    -- Empty for all of them.
    operation TEXT PRIMARY KEY,
    since BIGINT NOT NULL,
    -- When the next submission may start. NULL if the outage has ended.
    until BIGINT,
    ended_at BIGINT,
    pauses BIGINT NOT NULL,
    -- The intent of the submission that finds out whether the outage has ended.
    probe TEXT,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL
);

-- What the submissions that were not withdrawn cost: the budget is checked before each submission,
-- and must not read all earlier ones for that. Each submission also counts for its group. The empty
-- group has all submissions.
CREATE TABLE spending (
    group_name TEXT NOT NULL,
    operation TEXT NOT NULL,
    -- Each connection changes rows of its own, so that they do not wait for each other.
    part BIGINT NOT NULL,
    -- The highest known cost of one submission, and the sum of the known costs, in credits.
    price DOUBLE PRECISION,
    credits DOUBLE PRECISION NOT NULL,
    -- The number of submissions without a known cost and the sum of their pixels, for which prices
    -- reserve credits; and the number of submissions without a response.
    without_cost BIGINT NOT NULL,
    pixels BIGINT NOT NULL,
    open BIGINT NOT NULL,
    PRIMARY KEY (group_name, operation, part)
);

CREATE FUNCTION count_spending() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    was_counted INTEGER := CASE WHEN TG_OP = 'UPDATE' AND OLD.state <> 'withdrawn' THEN 1 ELSE 0 END;
    is_counted INTEGER := CASE WHEN NEW.state <> 'withdrawn' THEN 1 ELSE 0 END;
BEGIN
    INSERT INTO imagekiln.spending AS s
        (group_name, operation, part, price, credits, without_cost, pixels, open)
    SELECT names.name, NEW.operation, pg_backend_pid() % 64, NEW.cost,
        is_counted * COALESCE(NEW.cost, 0),
        is_counted * (NEW.cost IS NULL)::INTEGER,
        is_counted * (NEW.cost IS NULL)::INTEGER * NEW.pixels,
        (NEW.state = 'open')::INTEGER
    FROM (SELECT '' AS name UNION SELECT COALESCE(NEW.group_name, '')) names
    ON CONFLICT (group_name, operation, part) DO UPDATE SET
        price = GREATEST(s.price, NEW.cost),
        credits = s.credits + excluded.credits,
        without_cost = s.without_cost + excluded.without_cost,
        pixels = s.pixels + excluded.pixels,
        open = s.open + excluded.open;
    IF was_counted = 1 THEN
        UPDATE imagekiln.spending SET
            credits = credits - COALESCE(OLD.cost, 0),
            without_cost = without_cost - (OLD.cost IS NULL)::INTEGER,
            pixels = pixels - (OLD.cost IS NULL)::INTEGER * OLD.pixels,
            open = open - (OLD.state = 'open')::INTEGER
        WHERE group_name IN ('', COALESCE(NEW.group_name, '')) AND operation = OLD.operation
            AND part = pg_backend_pid() % 64;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER spending_of_new AFTER INSERT ON submissions
FOR EACH ROW EXECUTE FUNCTION count_spending();

CREATE TRIGGER spending_of_changed AFTER UPDATE OF state, cost ON submissions
FOR EACH ROW WHEN (OLD.state <> NEW.state OR OLD.cost IS DISTINCT FROM NEW.cost)
EXECUTE FUNCTION count_spending();
