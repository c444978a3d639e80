/**
 * A step of the schema: which leads were erased. Their rows stay, with id and hash, so that no poll brings them back, and no
 * content. The ledger's log and every delivery still name them by their ids.
 */
export const erasures = `
  CREATE TABLE _erased (
    erased_no INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    id INTEGER NOT NULL,
    erased_at INTEGER NOT NULL,
    finished_at INTEGER,                    -- when every place was reached; null: somebody has to go on
    kept_out INTEGER NOT NULL DEFAULT 0,    -- how many new contents were listed since, and not recorded
    UNIQUE (source, id)
  ) STRICT;
  ALTER TABLE _leads ADD COLUMN erased_no INTEGER;
`;

/** A step of the schema that changes no table: a delivery of the event `erased` tells a sink, and its id says so in the views. */
export const erasuresTold =
  '-- `replay` of such a delivery is -1, so that a sink is owed one for a lead, and never a second.';
