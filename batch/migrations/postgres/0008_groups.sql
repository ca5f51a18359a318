-- Groups and priorities of jobs, limits that can change while workers run, and jobs that left.

ALTER TABLE submissions ADD COLUMN group_name TEXT;
CREATE INDEX submissions_by_job ON submissions (job);
CREATE INDEX submissions_without_job ON submissions (group_name, operation)
    WHERE job IS NULL AND state IN ('open', 'accepted');

ALTER TABLE jobs
    -- The user, the order or the campaign that it is for.
    ADD COLUMN group_name TEXT,
    -- JSON of the program.
    ADD COLUMN metadata TEXT,
    -- Jobs with a higher one are submitted first.
    ADD COLUMN priority BIGINT NOT NULL DEFAULT 0,
    DROP CONSTRAINT jobs_state_check,
    DROP CONSTRAINT jobs_check,
    DROP CONSTRAINT jobs_check1,
    ADD CHECK (state IN ('queued', 'submitting', 'submitted', 'ready', 'saved',
                         'damaged', 'failed', 'moderated', 'expired', 'unknown', 'cancelled')),
    ADD CHECK (state IN ('queued', 'failed', 'cancelled') OR submission IS NOT NULL),
    ADD CHECK (state NOT IN ('queued', 'cancelled') OR submission IS NULL);

DROP INDEX jobs_to_claim;
CREATE INDEX jobs_to_claim ON jobs (worker, state, priority DESC, id);
CREATE INDEX jobs_by_group ON jobs (group_name, state) WHERE group_name IS NOT NULL;
CREATE INDEX jobs_by_change ON jobs (changed_at);

ALTER TABLE staged_jobs
    ADD COLUMN group_name TEXT,
    ADD COLUMN metadata TEXT,
    ADD COLUMN priority BIGINT NOT NULL DEFAULT 0;

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

-- Transactions that add jobs do not wait for each other.
CREATE SEQUENCE job_numbers;
SELECT setval('job_numbers', COALESCE(MAX(number), 0) + 1, FALSE) FROM jobs;

CREATE TABLE limits (
    scope TEXT NOT NULL CHECK (scope IN ('ledger', 'operation', 'group')),
    -- The operation or the group. Empty: the ledger, or each group without limits of its own.
    name TEXT NOT NULL,
    -- In credits.
    budget DOUBLE PRECISION,
    max_active BIGINT,
    -- NULL: not paused.
    paused_at BIGINT,
    PRIMARY KEY (scope, name)
);

-- Each submission also counts for its group. The empty group has all submissions. Workers of
-- earlier versions may write submissions in the meantime, so their triggers must not change.
LOCK TABLE submissions IN SHARE ROW EXCLUSIVE MODE;

ALTER TABLE spending
    ADD COLUMN group_name TEXT NOT NULL DEFAULT '',
    DROP CONSTRAINT spending_pkey,
    ADD PRIMARY KEY (group_name, operation, part);

CREATE OR REPLACE FUNCTION count_spending() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    was_counted INTEGER := CASE WHEN TG_OP = 'UPDATE' AND OLD.state <> 'withdrawn' THEN 1 ELSE 0 END;
    is_counted INTEGER := CASE WHEN NEW.state <> 'withdrawn' THEN 1 ELSE 0 END;
BEGIN
    INSERT INTO imagekiln.spending AS s
        (group_name, operation, part, price, credits, without_cost, open)
    SELECT names.name, NEW.operation, pg_backend_pid() % 64, NEW.cost,
        is_counted * COALESCE(NEW.cost, 0),
        is_counted * (NEW.cost IS NULL)::INTEGER,
        (NEW.state = 'open')::INTEGER
    FROM (SELECT '' AS name UNION SELECT COALESCE(NEW.group_name, '')) names
    ON CONFLICT (group_name, operation, part) DO UPDATE SET
        price = GREATEST(s.price, NEW.cost),
        credits = s.credits + excluded.credits,
        without_cost = s.without_cost + excluded.without_cost,
        open = s.open + excluded.open;
    IF was_counted = 1 THEN
        UPDATE imagekiln.spending SET
            credits = credits - COALESCE(OLD.cost, 0),
            without_cost = without_cost - (OLD.cost IS NULL)::INTEGER,
            open = open - (OLD.state = 'open')::INTEGER
        WHERE group_name IN ('', COALESCE(NEW.group_name, '')) AND operation = OLD.operation
            AND part = pg_backend_pid() % 64;
    END IF;
    RETURN NULL;
END $$;
