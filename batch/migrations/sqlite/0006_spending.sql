-- What the submissions that were not withdrawn cost, by operation: the budget is checked before each
-- submission, and must not read all earlier ones for that.
CREATE TABLE spending (
    operation TEXT NOT NULL,
    -- PostgreSQL has several rows, so that the connections do not wait for each other.
    part INTEGER NOT NULL,
    -- The highest known cost of one submission, and the sum of the known costs, in credits.
    price REAL,
    credits REAL NOT NULL,
    -- The number of submissions without a known cost, and of those without a response.
    without_cost INTEGER NOT NULL,
    open INTEGER NOT NULL,
    PRIMARY KEY (operation, part)
) STRICT;

INSERT INTO spending
SELECT operation, 0, MAX(cost), TOTAL(cost) FILTER (WHERE state <> 'withdrawn'),
    COUNT(*) FILTER (WHERE state <> 'withdrawn' AND cost IS NULL),
    COUNT(*) FILTER (WHERE state = 'open')
FROM submissions GROUP BY operation;

CREATE TRIGGER spending_of_new AFTER INSERT ON submissions WHEN NEW.state <> 'withdrawn' BEGIN
    INSERT INTO spending VALUES
        (NEW.operation, 0, NEW.cost, COALESCE(NEW.cost, 0), NEW.cost IS NULL, NEW.state = 'open')
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
    WHERE operation = NEW.operation AND part = 0;
END;

DROP INDEX submissions_by_operation;
