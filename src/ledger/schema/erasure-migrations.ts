/**
 * A migration that adds the table of erased leads. The rows of these leads keep their id and hash but no content, so that no poll records
 * them again. Deliveries and leadsync's log still contain their ids.
 */
export const erasures = `
  CREATE TABLE _erased (
    erased_no INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    id INTEGER NOT NULL,
    erased_at INTEGER NOT NULL,
    finished_at INTEGER,                    -- when every destination was reached; null: the erasure must be continued
    kept_out INTEGER NOT NULL DEFAULT 0,    -- number of new contents that were listed since and ignored
    UNIQUE (source, id)
  ) STRICT;
  ALTER TABLE _leads ADD COLUMN erased_no INTEGER;
`;

/** A migration that only recreates the views, in which the ids of deliveries of the event `erased` end with `:erased`. */
export const erasedDeliveryIds =
  '-- `replay` of such a delivery is -1, so that a sink is owed at most one for each lead.';
