/**
 * A migration that adds the indexes by which pages list the leads of a service, and those that are no longer listed, and gives the index of
 * pending deliveries the order of their list, so that no plan sorts the backlog.
 */
export const pageIndexes = `
  -- By bytes, as in SQLite, so that the order does not depend on the collation of the database.
  CREATE INDEX _versions_by_service ON _versions ((service_slug COLLATE "C"), version_no);
  -- In place of the index of all numbers, which come from a sequence and which nothing looks up.
  ALTER TABLE _presence DROP CONSTRAINT _presence_presence_no_key;
  CREATE INDEX _presence_gone ON _presence (source, presence_no) WHERE last_listed_at IS NOT NULL;
  DROP INDEX _deliveries_pending, _deliveries_retrying;
  CREATE INDEX _deliveries_pending ON _deliveries (sink_no, owed_at, delivery_no) WHERE state = 'pending';
  -- Unchanged, but newer than the other one: of two indexes that fit, a plan without statistics takes the newer.
  CREATE INDEX _deliveries_retrying ON _deliveries (sink_no, next_attempt_at) INCLUDE (first_attempt_at) WHERE state = 'pending' AND reason IS NOT NULL;
`;
