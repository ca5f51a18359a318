-- Tells this ledger from every other one, and from copies of its file.
CREATE TABLE identity (
    -- Random. The marker at each output contains it.
    id TEXT NOT NULL,
    -- The file of the ledger: its inode, and when it was created. NULL: not known.
    file TEXT
) STRICT;

INSERT INTO identity (id) VALUES (LOWER(HEX(RANDOMBLOB(16))));
