-- Jobs that are being added. They become jobs all at once, when the last one is here.
CREATE TABLE staged_jobs (
    -- A random number.
    addition BIGINT NOT NULL,
    position BIGINT NOT NULL,
    name TEXT NOT NULL,
    target TEXT NOT NULL,
    operation TEXT NOT NULL,
    request TEXT NOT NULL,
    staged_at BIGINT NOT NULL,
    PRIMARY KEY (addition, position)
);
