-- What is known of the submission, as JSON of the SDK's `Record`. NULL: only its intent and its task
-- are known.
ALTER TABLE submissions ADD COLUMN record TEXT;
