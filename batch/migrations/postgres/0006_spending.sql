-- What the submissions that were not withdrawn cost, by operation: the budget is checked before each
-- submission, and must not read all earlier ones for that.
CREATE TABLE spending (
    operation TEXT NOT NULL,
    -- Each connection changes rows of its own, so that they do not wait for each other.
    part BIGINT NOT NULL,
    -- The highest known cost of one submission, and the sum of the known costs, in credits.
    price DOUBLE PRECISION,
    credits DOUBLE PRECISION NOT NULL,
    -- The number of submissions without a known cost, and of those without a response.
    without_cost BIGINT NOT NULL,
    open BIGINT NOT NULL,
    PRIMARY KEY (operation, part)
);

-- Workers of earlier versions may write submissions until the triggers count them.
LOCK TABLE submissions IN SHARE ROW EXCLUSIVE MODE;

INSERT INTO spending
SELECT operation, 0, MAX(cost), COALESCE(SUM(cost) FILTER (WHERE state <> 'withdrawn'), 0),
    COUNT(*) FILTER (WHERE state <> 'withdrawn' AND cost IS NULL),
    COUNT(*) FILTER (WHERE state = 'open')
FROM submissions GROUP BY operation;

CREATE FUNCTION count_spending() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    was_counted INTEGER := CASE WHEN TG_OP = 'UPDATE' AND OLD.state <> 'withdrawn' THEN 1 ELSE 0 END;
    is_counted INTEGER := CASE WHEN NEW.state <> 'withdrawn' THEN 1 ELSE 0 END;
BEGIN
    INSERT INTO imagekiln.spending AS s
    SELECT NEW.operation, pg_backend_pid() % 64, NEW.cost,
        is_counted * COALESCE(NEW.cost, 0),
        is_counted * (NEW.cost IS NULL)::INTEGER,
        (NEW.state = 'open')::INTEGER
    ON CONFLICT (operation, part) DO UPDATE SET
        price = GREATEST(s.price, NEW.cost),
        credits = s.credits + excluded.credits,
        without_cost = s.without_cost + excluded.without_cost,
        open = s.open + excluded.open;
    IF was_counted = 1 THEN
        UPDATE imagekiln.spending SET
            credits = credits - COALESCE(OLD.cost, 0),
            without_cost = without_cost - (OLD.cost IS NULL)::INTEGER,
            open = open - (OLD.state = 'open')::INTEGER
        WHERE operation = OLD.operation AND part = pg_backend_pid() % 64;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER spending_of_new AFTER INSERT ON submissions
FOR EACH ROW EXECUTE FUNCTION count_spending();

CREATE TRIGGER spending_of_changed AFTER UPDATE OF state, cost ON submissions
FOR EACH ROW WHEN (OLD.state <> NEW.state OR OLD.cost IS DISTINCT FROM NEW.cost)
EXECUTE FUNCTION count_spending();

DROP INDEX submissions_by_operation;
