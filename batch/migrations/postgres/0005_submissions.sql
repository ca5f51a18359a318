-- The record of a submission is its only form. The other columns follow from it when it is written,
-- because queries find or count submissions by them.
ALTER TABLE submissions DROP CONSTRAINT submissions_check;

-- Before, the submissions of jobs that ended were often left as accepted.
UPDATE submissions SET state = 'settled'
WHERE state = 'accepted' AND job IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM jobs j WHERE j.submission = submissions.id AND j.state IN ('submitted', 'ready'));

UPDATE submissions SET
    record = JSON_BUILD_OBJECT(
        'intent', intent::JSON,
        'state', CASE
            WHEN state = 'open' THEN '"unknown"'::JSON
            WHEN state = 'withdrawn' AND record IS NULL THEN '"not_billed"'::JSON
            WHEN state IN ('settled', 'lost')
                AND COALESCE(record::JSON ->> 'state', 'accepted') IN ('accepted', 'ready')
                THEN '"settled"'::JSON
            ELSE COALESCE(record::JSON -> 'state', '"accepted"'::JSON) END,
        'task', COALESCE(record::JSON -> 'task', task::JSON)::JSONB || CASE
            WHEN cost IS NULL THEN '{}'::JSONB
            ELSE JSONB_BUILD_OBJECT('cost', cost) END,
        'ready_at', record::JSON -> 'ready_at',
        'not_found_at', record::JSON -> 'not_found_at')::TEXT,
    state = CASE WHEN state = 'lost' THEN 'settled' ELSE state END;

ALTER TABLE submissions ALTER COLUMN record SET NOT NULL, DROP COLUMN intent, DROP COLUMN task,
    DROP CONSTRAINT submissions_state_check,
    -- open: sent, or about to be, without a response; withdrawn: not billed; settled: nothing is
    -- left to do.
    ADD CHECK (state IN ('open', 'accepted', 'settled', 'withdrawn'));
