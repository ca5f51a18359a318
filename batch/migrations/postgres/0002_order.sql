-- Runs are ordered by the numbers of their workers, which are never reused: a clock can be set back.
ALTER TABLE jobs ADD COLUMN
    -- The highest number of a worker when a worker could not continue the job. Only workers with
    -- higher numbers try again.
    left_after BIGINT;

UPDATE jobs SET left_after = (SELECT MAX(id) FROM workers) WHERE left_at IS NOT NULL;

DROP INDEX jobs_by_state;
ALTER TABLE jobs DROP COLUMN left_at;
CREATE INDEX jobs_by_state ON jobs (state, left_after);
