-- Rates of submissions, and which worker submitted a job.

-- Submissions per minute.
ALTER TABLE limits ADD COLUMN rate INTEGER;
-- When the rate allows the next submission if each one waits for its turn.
ALTER TABLE limits ADD COLUMN next_at INTEGER;

-- Not that of the record, which is as small as possible.
ALTER TABLE submissions ADD COLUMN worker INTEGER;
