/** A migration that adds the indexes with which pages and the API quickly list rows, newest first, even in a large ledger. */
export const browseIndexes = `
  CREATE INDEX _versions_first ON _versions (source, valid_from) WHERE version = 1;
  CREATE INDEX _deliveries_delivered ON _deliveries (sink_no, owed_at) WHERE state = 'delivered';
  CREATE INDEX _deliveries_skipped ON _deliveries (sink_no, owed_at) WHERE state = 'skipped';
  CREATE INDEX _deliveries_given_up ON _deliveries (sink_no, owed_at) WHERE state = 'dead';
  CREATE INDEX _polls_by_status ON polls (source, status);
`;
